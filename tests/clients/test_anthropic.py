"""The anthropic package on /v1/messages."""

import json
import unittest

import anthropic
import jsonschema

from support import WEATHER, ServerTest

TOOL = {"name": WEATHER["name"], "description": WEATHER["description"], "input_schema": WEATHER["parameters"]}
HELLO = [{"role": "user", "content": "Hello there"}]
BUDGET = {"reasoning_budget_tokens": 4}


class Messages(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.claude = cls.server.anthropic()

    def ask(self, temperature=0.7, **options):
        # The package knows no temperature any more.
        options = {"model": "any", "messages": HELLO, "max_tokens": 24, **options}
        return self.claude.messages.create(**options, extra_body={**BUDGET, "temperature": temperature})

    def test_answer(self):
        answer = self.ask(system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
        self.assertEqual((answer.type, answer.role), ("message", "assistant"))
        self.assertIn(answer.stop_reason, ("end_turn", "max_tokens"))
        self.assertGreater(answer.usage.input_tokens + answer.usage.cache_read_input_tokens, 0)
        again = self.ask(system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
        self.assertGreater(again.usage.cache_read_input_tokens, 0)

    def test_stream(self):
        with self.claude.messages.stream(model="any", messages=HELLO, max_tokens=24, extra_body={**BUDGET, "seed": 2}) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual("".join(block.text for block in final.content if block.type == "text"), text)
        self.assertGreater(final.usage.output_tokens, 0)

    def check_order(self, events):
        kinds = [name for name, _ in events if name != "ping"]
        self.assertEqual(kinds[0], "message_start")
        self.assertEqual(kinds[-2:], ["message_delta", "message_stop"])
        self.assertIn("usage", events[0][1]["message"])
        open_index, expected = None, 0
        for name, data in events:
            self.assertEqual(name, data["type"])
            if name == "content_block_start":
                self.assertIsNone(open_index)
                open_index = data["index"]
                self.assertEqual(open_index, expected)
                block = data["content_block"]
                if block["type"] == "tool_use":
                    self.assertEqual(block["input"], {})
                if block["type"] == "thinking":
                    self.assertIn("signature", block)
            elif name == "content_block_delta":
                self.assertEqual(data["index"], open_index)
            elif name == "content_block_stop":
                self.assertEqual(data["index"], open_index)
                open_index, expected = None, expected + 1

    def test_stream_order(self):
        for seed in range(5):
            body = {"messages": HELLO, "max_tokens": 40, "stream": True, "seed": seed, "temperature": 0.9, **BUDGET}
            self.check_order(self.server.events("/v1/messages", body))
            body |= {"tools": [TOOL], "tool_choice": {"type": "any"}, "max_tokens": 300}
            self.check_order(self.server.events("/v1/messages", body))

    def test_thinking_blocks_have_a_signature(self):
        begin = [*HELLO, {"role": "assistant", "content": "<think>"}]
        events = self.server.events("/v1/messages", {"messages": begin, "max_tokens": 30, "stream": True,
                                                     "thinking": {"type": "enabled", "budget_tokens": 5}})
        self.check_order(events)
        kinds = [data["delta"]["type"] for name, data in events if name == "content_block_delta"]
        self.assertIn("thinking_delta", kinds)
        self.assertIn("signature_delta", kinds)

    def test_call_and_result(self):
        answer = self.ask(max_tokens=300, tools=[TOOL], tool_choice={"type": "tool", "name": "get_weather",
                                                                     "disable_parallel_tool_use": True})
        self.assertEqual(answer.stop_reason, "tool_use")
        call = next(block for block in answer.content if block.type == "tool_use")
        jsonschema.validate(call.input, WEATHER["parameters"])
        after = self.ask(tools=[TOOL], tool_choice={"type": "none"}, messages=[
            *HELLO, {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": [
                {"type": "text", "text": "rain"}]}, {"type": "text", "text": "So?"}]}])
        self.assertIn(after.stop_reason, ("end_turn", "max_tokens"))

    def test_stop_sequence(self):
        text = self.ask(temperature=0, max_tokens=60).content[-1].text
        middle = text[len(text) // 2:len(text) // 2 + 3]
        answer = self.ask(temperature=0, max_tokens=60, stop_sequences=[middle])
        self.assertEqual((answer.stop_reason, answer.stop_sequence), ("stop_sequence", middle))

    def test_count_tokens(self):
        count = self.claude.messages.count_tokens(model="any", messages=HELLO, system="Be brief.").input_tokens
        usage = self.ask(system="Be brief.").usage
        self.assertEqual(count, usage.input_tokens + usage.cache_read_input_tokens)
        with_tools = self.claude.messages.count_tokens(model="any", messages=HELLO, tools=[TOOL]).input_tokens
        self.assertGreater(with_tools, count)

    def test_errors(self):
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.ask(messages=[{"role": "user", "content": [{"type": "image", "source": {
                "type": "base64", "media_type": "image/png", "data": ""}}]}])
        error = json.loads(caught.exception.response.text)
        self.assertEqual(error["type"], "error")
        self.assertEqual(error["error"]["type"], "invalid_request_error")
        self.assertIn("messages[0].content[0].type", error["error"]["message"])
        status, body, _ = self.server.request("/v1/messages", {"messages": HELLO})
        self.assertEqual((status, body["error"]["message"]), (400, "max_tokens: is missing"))

    def test_a_billing_header_does_not_end_reuse(self):
        long = "You are a careful assistant who answers in few words. " * 12
        cached = []
        for number in range(2):
            answer = self.ask(system=[
                {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2; cch={number}abc{number};"},
                {"type": "text", "text": long}])
            cached.append(answer.usage.cache_read_input_tokens)
        self.assertGreater(cached[1], 90)


if __name__ == "__main__":
    unittest.main()
