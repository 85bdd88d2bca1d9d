"""The openai package on completions, responses and embeddings; llama-server's plain endpoints."""

import base64
import json
import struct
import unittest

import jsonschema
import openai

from support import PERSON, WEATHER, ServerTest

TOOL = {"type": "function", **WEATHER, "strict": True}
BUDGET = {"reasoning_budget_tokens": 4}


class Completions(ServerTest):
    model = "llama"

    def complete(self, **options):
        options = {"model": "any", "prompt": "Once upon", "max_tokens": 12, "temperature": 0.5, "seed": 3, **options}
        return self.client.completions.create(**options)

    def test_texts_and_tokens(self):
        answer = self.complete()
        self.assertEqual(answer.object, "text_completion")
        ids = self.server.request("/tokenize", {"content": "Once upon", "add_special": True})[1]["tokens"]
        self.assertEqual(self.complete(prompt=ids).choices[0].text, answer.choices[0].text)
        self.assertEqual(answer.usage.prompt_tokens, len(ids))
        several = self.complete(prompt=["Once upon", "A second"], n=2)
        self.assertEqual([choice.index for choice in several.choices], [0, 1, 2, 3])
        self.assertEqual(several.choices[0].text, answer.choices[0].text)

    def test_stream_and_echo(self):
        whole = self.complete(echo=True).choices[0].text
        self.assertTrue(whole.endswith(self.complete().choices[0].text))
        self.assertIn("Once upon", whole)
        streamed = "".join(chunk.choices[0].text for chunk in self.complete(echo=True, stream=True))
        self.assertEqual(streamed, whole)

    def test_logprobs(self):
        logprobs = self.complete(logprobs=2, temperature=0).choices[0].logprobs
        self.assertEqual(len(logprobs.tokens), len(logprobs.token_logprobs))
        self.assertTrue(all(len(top) <= 2 for top in logprobs.top_logprobs))
        self.assertEqual(logprobs.text_offset[0], 0)

    def test_logprobs_of_the_prompt(self):
        prompt = "Once upon a time, by the river \u00e9t\u00e9, " * 4
        plain = self.complete(prompt=prompt, logprobs=2).choices[0]
        echoed = self.complete(prompt=prompt, logprobs=2, echo=True)
        both, choice = echoed.choices[0].logprobs, echoed.choices[0]
        count = echoed.usage.prompt_tokens
        self.assertEqual(len(both.tokens), count + len(plain.logprobs.tokens))
        self.assertEqual((both.token_logprobs[0], both.top_logprobs[0]), (None, None))
        self.assertTrue(all(value <= 0 for value in both.token_logprobs[1:]))
        self.assertEqual(both.token_logprobs[count:], plain.logprobs.token_logprobs)
        for token, offset in zip(both.tokens, both.text_offset):
            if "\ufffd" not in token:
                self.assertEqual(choice.text[offset:offset + len(token)], token)
        streamed = [chunk.choices[0] for chunk in self.complete(prompt=prompt, logprobs=2, echo=True, stream=True)]
        self.assertEqual("".join(piece.text for piece in streamed), choice.text)
        values = [value for piece in streamed if piece.logprobs for value in piece.logprobs.token_logprobs]
        self.assertEqual(values, both.token_logprobs)
        none = self.complete(prompt=prompt, logprobs=0, echo=True, max_tokens=0).choices[0]  # as evaluation programs ask
        self.assertEqual(none.logprobs.token_logprobs, both.token_logprobs[:count])
        self.assertTrue(none.text.endswith(prompt))

    def test_each_number_of_tokens_gives_whole_characters(self):
        for most in range(13):
            text = self.complete(max_tokens=most, temperature=1.5).choices[0].text
            self.assertNotIn("\ufffd\ufffd\ufffd\ufffd", text)
            streamed = "".join(chunk.choices[0].text for chunk in self.complete(max_tokens=most, temperature=1.5, stream=True))
            self.assertEqual(streamed, text)

    def test_grammar_and_schema(self):
        text = self.complete(max_tokens=60, extra_body={"grammar": 'root ::= ("ab" | "cd"){3} [0-9]'}).choices[0].text
        self.assertRegex(text, r"^(ab|cd){3}[0-9]$")
        text = self.complete(max_tokens=300, extra_body={"json_schema": PERSON}).choices[0].text
        jsonschema.validate(json.loads(text), PERSON)

    def test_refusals(self):
        for options, place in (({"suffix": "x"}, "suffix"),
                               ({"extra_body": {"grammar": "answer ::= 'yes'"}}, "grammar"),
                               ({"extra_body": {"grammar": "root ::= " + "(" * 60000}}, "grammar")):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.complete(**options)
            self.assertEqual(caught.exception.param, place)


class Responses(ServerTest):
    def respond(self, **options):
        options = {"model": "any", "input": "Hello", "max_output_tokens": 16, "temperature": 0.6, "extra_body": BUDGET, **options}
        return self.client.responses.create(**options)

    def test_answer_and_continuation(self):
        first = self.respond(instructions="Be kind.")
        self.assertEqual(first.object, "response")
        self.assertEqual(first.instructions, "Be kind.")
        self.assertIn(first.status, ("completed", "incomplete"))
        second = self.respond(previous_response_id=first.id, input=[{"role": "user", "content": [
            {"type": "input_text", "text": "More"}]}])
        self.assertGreater(second.usage.input_tokens, first.usage.input_tokens)
        self.assertEqual(self.client.responses.retrieve(first.id).output_text, first.output_text)
        self.client.responses.delete(first.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(first.id)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.respond(previous_response_id=first.id)
        self.assertEqual(caught.exception.code, "previous_response_not_found")

    def test_stream(self):
        with self.client.responses.stream(model="any", input="Hello", max_output_tokens=300, extra_body=BUDGET, text={
                "format": {"type": "json_schema", "name": "person", "schema": PERSON, "strict": True}}) as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_response()
        self.assertEqual(kinds[:2], ["response.created", "response.in_progress"])
        self.assertEqual(kinds[-1], "response.completed")
        jsonschema.validate(json.loads(final.output_text), PERSON)

    def test_stream_order(self):
        events = self.server.events("/v1/responses", {"input": "Hi", "max_output_tokens": 12, "stream": True, "seed": 4,
                                                      "logit_bias": {"0": 0}, **BUDGET})
        self.assertEqual([data["sequence_number"] for _, data in events], list(range(len(events))))
        self.assertTrue(all(name == data["type"] for name, data in events))
        text = "".join(data["delta"] for name, data in events if name == "response.output_text.delta")
        done = [data["text"] for name, data in events if name == "response.output_text.done"]
        self.assertEqual(text, "".join(done))
        opened = [data["item"]["id"] for name, data in events if name == "response.output_item.added"]
        closed = [data["item"]["id"] for name, data in events if name == "response.output_item.done"]
        self.assertEqual(opened, closed)
        self.assertEqual([item["id"] for item in events[-1][1]["response"]["output"]], opened)

    def test_call(self):
        answer = self.respond(max_output_tokens=300, tools=[TOOL], tool_choice="required", parallel_tool_calls=False)
        call = next(item for item in answer.output if item.type == "function_call")
        jsonschema.validate(json.loads(call.arguments), WEATHER["parameters"])
        self.assertEqual(answer.status, "completed")
        after = self.respond(tools=[TOOL], tool_choice="none", input=[
            {"role": "user", "content": "Weather?"}, *[item.model_dump(exclude_none=True) for item in answer.output],
            {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}])
        self.assertIn(after.status, ("completed", "incomplete"))
        events = self.server.events("/v1/responses", {
            "input": "Weather?", "max_output_tokens": 300, "stream": True, "tools": [TOOL], "tool_choice": "required",
            "parallel_tool_calls": False, **BUDGET})
        arguments = "".join(data["delta"] for name, data in events if name == "response.function_call_arguments.delta")
        jsonschema.validate(json.loads(arguments), WEATHER["parameters"])

    def test_schema(self):
        answer = self.respond(max_output_tokens=300, text={"format": {
            "type": "json_schema", "name": "person", "schema": PERSON, "strict": True}})
        jsonschema.validate(json.loads(answer.output_text), PERSON)


class Embeddings(ServerTest):
    model = "llama"

    def test_embeddings(self):
        one = self.client.embeddings.create(model="any", input="A text", encoding_format="float").data[0].embedding
        self.assertAlmostEqual(sum(value * value for value in one), 1, places=4)
        raw = self.server.request("/v1/embeddings", {"input": ["A text", "Another"], "encoding_format": "base64"})[1]
        values = struct.unpack(f"<{len(one)}f", base64.b64decode(raw["data"][0]["embedding"]))
        self.assertEqual([round(v, 5) for v in values], [round(v, 5) for v in one])
        self.assertEqual([entry["index"] for entry in raw["data"]], [0, 1])
        last = self.server.request("/v1/embeddings", {"input": "A text", "pooling": "last"})[1]["data"][0]["embedding"]
        self.assertNotEqual(last, one)
        long = self.client.embeddings.create(model="any", input="word " * 300).data[0].embedding
        self.assertEqual(len(long), len(one))



class StreamEmbeddings(Embeddings):
    model = "qwen4exp"


class Plain(ServerTest):
    model = "llama"

    def test_texts(self):
        tokens = self.server.request("/tokenize", {"content": "Grüße 🙂", "with_pieces": True})[1]["tokens"]
        ids = [token["id"] for token in tokens]
        self.assertEqual(self.server.request("/detokenize", {"tokens": ids})[1]["content"], "Grüße 🙂")
        prompt = self.server.request("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]})[1]["prompt"]
        self.assertIn("Hi", prompt)

    def test_monitor(self):
        self.assertEqual(self.server.request("/health")[1], {"status": "ok"})
        status = self.server.request("/v1/status")[1]
        for key in ("model", "memory", "slots", "queue", "cache", "totals", "instruction_set", "numeric_profile"):
            self.assertIn(key, status)
        self.assertGreater(status["memory"]["weights"], 0)
        props = self.server.request("/props")[1]
        self.assertEqual(props["total_slots"], len(self.server.request("/slots")[1]))
        self.client.completions.create(model="any", prompt="x", max_tokens=3)
        metrics = self.server.request("/metrics")[1]
        for name in ("terrace_completion_tokens_total", "terrace_time_to_first_token_seconds_count",
                     'terrace_http_responses_total{endpoint="/v1/completions",status="200"}', "terrace_cache_bytes",
                     'terrace_memory_bytes{purpose="weights"}'):
            self.assertIn(name, metrics)


if __name__ == "__main__":
    unittest.main()
