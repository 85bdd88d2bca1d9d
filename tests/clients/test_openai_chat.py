"""The openai package on /v1/chat/completions, streaming and not."""

import json
import threading
import time
import unittest

import jsonschema
import openai

from support import CHAT_TOOL, PERSON, WEATHER, Server, ServerTest

HELLO = [{"role": "user", "content": "Hello there"}]


def ask(client, **options):
    options = {"model": "any", "messages": HELLO, "max_tokens": 24, "temperature": 0.7, "seed": 5, **options}
    # The fixtures' models write at random, and would reason for ever.
    options["extra_body"] = {"reasoning_budget_tokens": 4, **options.get("extra_body", {})}
    return client.chat.completions.create(**options)


def joined(stream):
    """Role, content, reasoning, tool calls, finish reason, usage of a stream."""
    content = reasoning = ""
    calls, finish, usage = {}, None, None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            content += choice.delta.content or ""
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or []:
                kept = calls.setdefault(call.index, {"id": call.id, "name": call.function.name, "arguments": ""})
                kept["arguments"] += call.function.arguments or ""
    return content, reasoning, [calls[i] for i in sorted(calls)], finish, usage


class Chat(ServerTest):
    def test_answer(self):
        answer = ask(self.client)
        self.assertEqual(answer.object, "chat.completion")
        self.assertTrue(answer.id.startswith("chatcmpl-"))
        choice = answer.choices[0]
        self.assertEqual(choice.message.role, "assistant")
        self.assertIn(choice.finish_reason, ("stop", "length"))
        self.assertGreater(answer.usage.prompt_tokens, 0)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)

    def test_stream_is_the_same_answer(self):
        for seed in range(6):
            whole = ask(self.client, seed=seed)
            content, reasoning, calls, finish, usage = joined(
                ask(self.client, seed=seed, stream=True, stream_options={"include_usage": True}))
            self.assertEqual(content, whole.choices[0].message.content)
            self.assertEqual(reasoning, getattr(whole.choices[0].message, "reasoning_content", None) or "")
            self.assertEqual(calls, [])
            self.assertEqual(finish, whole.choices[0].finish_reason)
            self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)

    def test_stream_shape(self):
        events = self.server.events("/v1/chat/completions", {"messages": HELLO, "max_tokens": 5, "stream": True})
        self.assertEqual(events[-1][1], "[DONE]")
        chunks = [data for _, data in events[:-1]]
        self.assertEqual(chunks[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})
        self.assertEqual(len({chunk["id"] for chunk in chunks}), 1)
        self.assertTrue(all("usage" not in chunk for chunk in chunks))
        self.assertEqual(chunks[-1]["choices"][0]["delta"], {})
        self.assertIsNotNone(chunks[-1]["choices"][0]["finish_reason"])
        events = self.server.events("/v1/chat/completions", {
            "messages": HELLO, "max_tokens": 5, "stream": True, "stream_options": {"include_usage": True}})
        self.assertEqual(events[-2][1]["choices"], [])
        self.assertEqual(events[-2][1]["usage"]["completion_tokens"], 5)

    def test_a_seed_repeats_an_answer_and_choices_differ(self):
        one, two = ask(self.client, n=3), ask(self.client, n=3)
        texts = [choice.message.content for choice in one.choices]
        self.assertEqual(texts, [choice.message.content for choice in two.choices])
        self.assertEqual([choice.index for choice in one.choices], [0, 1, 2])
        self.assertGreater(len(set(texts)), 1)

    def test_logprobs(self):
        answer = ask(self.client, logprobs=True, top_logprobs=3, temperature=0, logit_bias={"5": -100})
        tokens = answer.choices[0].logprobs.content
        self.assertGreaterEqual(len(tokens), answer.usage.completion_tokens - 1)  # without one that ends the answer
        for token in tokens:
            self.assertLessEqual(token.logprob, 0)
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertEqual(token.top_logprobs, sorted(token.top_logprobs, key=lambda t: -t.logprob))
        streamed = []
        for chunk in ask(self.client, logprobs=True, top_logprobs=3, temperature=0, logit_bias={"5": -100}, stream=True):
            if chunk.choices and chunk.choices[0].logprobs:
                streamed += chunk.choices[0].logprobs.content
        self.assertEqual([t.logprob for t in streamed], [t.logprob for t in tokens])

    def test_stop(self):
        whole = ask(self.client, max_tokens=60, temperature=0).choices[0].message.content
        middle = whole[len(whole) // 2:len(whole) // 2 + 3]
        answer = ask(self.client, max_tokens=60, temperature=0, stop=[middle, "never"]).choices[0]
        self.assertEqual(answer.message.content, whole[:whole.index(middle)].rstrip())
        self.assertEqual(answer.finish_reason, "stop")

    def test_json_schema(self):
        for seed in range(5):
            answer = ask(self.client, seed=seed, max_tokens=300, response_format={
                "type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": PERSON}})
            self.assertEqual(answer.choices[0].finish_reason, "stop")
            jsonschema.validate(json.loads(answer.choices[0].message.content), PERSON)
        parsed = json.loads(ask(self.client, max_tokens=400, seed=1, logit_bias={}, response_format={
            "type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer", "minimum": 5, "maximum": 7}}
        }).choices[0].message.content)
        self.assertIn(parsed, (5, 6, 7))

    def test_what_a_schema_cannot_say_is_refused(self):
        for schema, place in (({"type": "string", "pattern": "^all is well\\!$"}, "pattern"),
                              ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "uniqueItems"),
                              ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "ref"),
                              ({"type": "strin"}, "type")):
            with self.assertRaises(openai.BadRequestError) as caught:
                ask(self.client, response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}})
            self.assertIn("response_format.json_schema.schema", str(caught.exception))
            self.assertIn(place, str(caught.exception))

    def test_required_call(self):
        for seed in range(4):
            for stream in (False, True):
                options = dict(seed=seed, max_tokens=300, tools=[CHAT_TOOL], tool_choice="required",
                               parallel_tool_calls=False)
                if stream:
                    content, _, calls, finish, _ = joined(ask(self.client, stream=True, **options))
                else:
                    message = ask(self.client, **options).choices[0]
                    calls = [{"id": c.id, "name": c.function.name, "arguments": c.function.arguments}
                             for c in message.message.tool_calls]
                    finish, content = message.finish_reason, message.message.content
                self.assertEqual(finish, "tool_calls")
                self.assertFalse(content)
                self.assertEqual(len(calls), 1)
                self.assertEqual(calls[0]["name"], "get_weather")
                self.assertTrue(calls[0]["id"])
                jsonschema.validate(json.loads(calls[0]["arguments"]), WEATHER["parameters"])

    def test_named_call_and_none(self):
        other = {"type": "function", "function": {"name": "other"}}  # neither description nor parameters
        answer = ask(self.client, max_tokens=200, tools=[CHAT_TOOL, other],
                     tool_choice={"type": "function", "function": {"name": "other"}})
        self.assertEqual(answer.choices[0].message.tool_calls[0].function.name, "other")
        answer = ask(self.client, tools=[CHAT_TOOL], tool_choice="none")
        self.assertIsNone(answer.choices[0].message.tool_calls)

    def test_a_history_with_tools(self):
        call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Ulm","da'}}
        answer = ask(self.client, tools=[CHAT_TOOL, {"type": "web_search"}], messages=[
            {"role": "system", "content": "Be brief."}, *HELLO,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "rain"}]},
            {"role": "user", "content": [{"type": "text", "text": "And "}, {"type": "text", "text": "then?"}]}])
        self.assertIn(answer.choices[0].finish_reason, ("stop", "length", "tool_calls"))

    def test_tools_and_a_schema(self):
        answer = ask(self.client, max_tokens=300, tools=[CHAT_TOOL], response_format={
            "type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}).choices[0]
        if answer.message.tool_calls:
            json.loads(answer.message.tool_calls[0].function.arguments)
        else:
            jsonschema.validate(json.loads(answer.message.content), PERSON)

    def test_the_beginning_of_an_answer(self):
        answer = ask(self.client, messages=[*HELLO, {"role": "assistant", "content": "Well, "}])
        self.assertIn(answer.choices[0].finish_reason, ("stop", "length"))

    def test_cancelling_ends_the_work(self):
        stream = ask(self.client, stream=True, max_tokens=900, extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()
        for _ in range(100):
            if not any(slot["is_processing"] for slot in self.server.request("/slots")[1]):
                return
            time.sleep(0.02)
        self.fail("the slot is still busy")

    def test_many_at_once_answer_as_alone(self):
        alone = [ask(self.client, seed=i, max_tokens=30).choices[0].message.content for i in range(12)]
        together = [None] * 12

        def run(i):
            together[i] = ask(self.client, seed=i, max_tokens=30).choices[0].message.content

        threads = [threading.Thread(target=run, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together, alone)

    def test_a_timeout_is_the_clients(self):
        with self.assertRaises(openai.APITimeoutError):
            # Long enough that a stall of the whole machine does not let the answer overtake the timeout.
            ask(self.client.with_options(timeout=0.05), n=8, max_tokens=900, extra_body={"ignore_eos": True})
        ask(self.client, max_tokens=2)

    def test_models(self):
        models = self.client.models.list().data
        self.assertEqual([model.id for model in models], ["model-f32"])
        self.assertEqual(self.client.models.retrieve("model-f32").object, "model")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("gpt-4")

    def test_prompts_that_do_not_fit_are_refused_with_both_numbers(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            ask(self.client, messages=[{"role": "user", "content": "long " * 3000}])
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        self.assertRegex(str(caught.exception), r"has \d{4,} tokens; this model's context holds 1024")
        with self.assertRaises(openai.BadRequestError) as caught:
            ask(self.client, max_tokens=5000)
        self.assertEqual(caught.exception.code, "context_length_exceeded")


class Reasoning(ServerTest):
    model = "qwen3"

    def test_a_budget_ends_the_reasoning(self):
        # The fixture's template does not begin reasoning: the beginning of the answer does.
        begin = [*HELLO, {"role": "assistant", "content": "<think>"}]
        answer = ask(self.client, messages=begin, max_tokens=60, extra_body={"reasoning_budget_tokens": 5, "ignore_eos": True})
        self.assertLess(answer.usage.completion_tokens_details.reasoning_tokens, 16)
        self.assertTrue(answer.choices[0].message.content)

    def test_reasoning_is_apart(self):
        begin = [*HELLO, {"role": "assistant", "content": "<think>"}]
        answer = ask(self.client, messages=begin, max_tokens=10, extra_body={"reasoning_budget_tokens": 100})
        self.assertTrue(answer.choices[0].message.reasoning_content)
        self.assertEqual(answer.choices[0].message.content, "")


class Harmony(ServerTest):
    model = "gptoss"

    def test_required_call(self):
        answer = ask(self.client, max_tokens=400, tools=[CHAT_TOOL], tool_choice="required", reasoning_effort="low")
        call = answer.choices[0].message.tool_calls[0]
        jsonschema.validate(json.loads(call.function.arguments), WEATHER["parameters"])


class Fitting(unittest.TestCase):
    def test_fit_max_tokens(self):
        server = Server("llama", "--fit-max-tokens")
        answer = ask(server.openai(), max_tokens=50000, extra_body={"ignore_eos": True})
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertEqual(answer.usage.total_tokens, 1025)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
