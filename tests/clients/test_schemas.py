"""Recorded answers and event streams against the types of the public APIs, field by field.

The packages' types are made from the APIs' published descriptions. Every field must be known there with the type it has
here, and every field that is required there must be here; what Terrace adds is in EXTENSIONS.
"""

import types
import typing
import unittest

import anthropic.types
import openai.types
import openai.types.chat
import openai.types.responses
import openai.types.shared
import pydantic

from support import CHAT_TOOL, PERSON, WEATHER, ServerTest

HELLO = [{"role": "user", "content": "Hello there"}]
# llama-server's and DeepSeek's fields; "store" is in the responses that OpenAI's reference shows, but not in its types.
EXTENSIONS = {"reasoning_content", "timings", "prompt_progress", "meta", "store"}


def check(kind, value, path=""):
    """Raises AssertionError where `value` is not of the type `kind`."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return check(arguments[0], value, path)
    if kind in (typing.Any, object):
        return None
    if origin in (typing.Union, types.UnionType):
        return check_union(arguments, value, path)
    if origin is typing.Literal:
        assert value in arguments, f"{path} is {value!r}, not one of {arguments}"
    elif origin is list:
        assert isinstance(value, list), f"{path} is no list: {value!r}"
        for index, entry in enumerate(value):
            check(arguments[0], entry, f"{path}[{index}]")
    elif origin is dict:
        assert isinstance(value, dict), f"{path} is no object: {value!r}"
        for key, entry in value.items():
            check(arguments[1], entry, f"{path}.{key}")
    elif isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
        check_object(kind, value, path)
    elif kind is float:
        assert isinstance(value, (int, float)) and not isinstance(value, bool), f"{path} is no number: {value!r}"
    else:
        assert type(value) is kind, f"{path} is not {kind}: {value!r}"
    return None


def type_names(kind):
    """What the "type" field of an object of this kind may be; nothing where it has none."""
    field = getattr(kind, "model_fields", {}).get("type")
    return typing.get_args(field.annotation) if field else ()


def check_union(kinds, value, path):
    if isinstance(value, dict) and "type" in value:  # only the right kind says what is wrong
        kinds = [kind for kind in kinds if not type_names(kind) or value["type"] in type_names(kind)]
    problems = []
    for kind in kinds:
        try:
            return check(kind, value, path)
        except AssertionError as problem:
            problems.append(str(problem))
    raise AssertionError("; or ".join(problems) or f"{path} is of no known type: {value!r}")


def check_object(kind, value, path):
    assert isinstance(value, dict), f"{path} is no object: {value!r}"
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    for name, field in fields.items():
        if name in value:
            check(field.annotation, value[name], f"{path}.{name}")
        else:
            assert not field.is_required(), f"{path}.{name} is missing in {value}"
    unknown = set(value) - set(fields) - EXTENSIONS
    if kind.__name__ == "ResponseFunctionCallArgumentsDoneEvent":
        unknown -= {"name"}  # which the npm package's type demands
    assert not unknown, f"{path} has {unknown}, which {kind.__name__} does not know"


def settle_completion(completion, streamed):
    """Takes out the nulls that OpenAI's API sends although its types do not say so: the finish reason of the pieces of a
    stream before a choice's last, and what would be the log-probability of the first token, before which there is nothing."""
    for choice in completion["choices"]:
        if streamed and choice["finish_reason"] is None:
            choice["finish_reason"] = "stop"
        logprobs = choice["logprobs"]
        if logprobs and logprobs["text_offset"][:1] == [0] and logprobs["token_logprobs"][0] is None:
            assert logprobs["top_logprobs"][0] is None
            logprobs["token_logprobs"][0], logprobs["top_logprobs"][0] = 0.0, {}
    return completion


class TheCheck(unittest.TestCase):
    """It can fail."""

    def test_faults_are_found(self):
        kind = openai.types.chat.ChatCompletionChunk
        good = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
        check(kind, good)
        choice = good["choices"][0]
        for bad in ({**good, "object": "chunk"}, {**good, "created": "1"}, {**good, "extra": 1},
                    {k: v for k, v in good.items() if k != "id"}, {**good, "choices": [{**choice, "finish_reason": "end"}]},
                    {**good, "choices": [{**choice, "index": True}]}, {**good, "choices": [{**choice, "delta": {"text": ""}}]}):
            with self.assertRaises(AssertionError):
                check(kind, bad)


class Schemas(ServerTest):
    def answer(self, path, body, kind):
        status, answer, _ = self.server.request(path, body)
        self.assertEqual(status, 200, answer)
        check(kind, settle_completion(answer, streamed=False) if kind is openai.types.Completion else answer, path)
        return answer

    def stream(self, path, body, kind, others=()):
        """The events' types. `others`: events that the type does not list."""
        events = self.server.events(path, {**body, "stream": True})
        seen, reasons = [], []
        for name, data in events:
            if data == "[DONE]":
                continue
            seen.append(name)
            if kind is openai.types.Completion:
                reasons += [choice["finish_reason"] for choice in data["choices"]]
                settle_completion(data, streamed=True)
            if name not in others:
                check(kind, data, f"{path} {name or ''}")
        self.assertGreater(len(seen), 2)
        if kind is openai.types.Completion:  # each choice says once why it ended
            self.assertEqual(sum(reason is not None for reason in reasons), body.get("n", 1))
        return seen

    def test_chat_completions(self):
        base = {"messages": HELLO, "max_tokens": 24, "seed": 5, "reasoning_budget_tokens": 4}
        tools = {"tools": [CHAT_TOOL], "tool_choice": "required", "max_tokens": 120}
        schema = {"response_format": {"type": "json_schema", "json_schema": {"name": "p", "strict": True, "schema": PERSON}}}
        for extra in ({}, {"n": 2}, {"logprobs": True, "top_logprobs": 2}, {"stop": ["e"]}, tools, schema):
            with self.subTest(extra=extra):
                body = {**base, **extra}
                self.answer("/v1/chat/completions", body, openai.types.chat.ChatCompletion)
                body["stream_options"] = {"include_usage": True}
                self.stream("/v1/chat/completions", body, openai.types.chat.ChatCompletionChunk)
                self.stream("/v1/chat/completions", {**body, "return_progress": True, "cache_prompt": False},
                            openai.types.chat.ChatCompletionChunk)

    def test_completions(self):
        for extra in ({}, {"n": 2}, {"logprobs": 2}, {"echo": True}, {"echo": True, "logprobs": 1}):
            with self.subTest(extra=extra):
                body = {"prompt": "Hello", "max_tokens": 6, **extra}
                self.answer("/v1/completions", body, openai.types.Completion)
                self.stream("/v1/completions", body, openai.types.Completion)

    def test_responses(self):
        base = {"input": "Hello there", "max_output_tokens": 24, "seed": 5, "reasoning_budget_tokens": 4}
        tool = {"type": "function", "strict": True, **WEATHER}
        for extra in ({}, {"instructions": "Be brief."}, {"max_output_tokens": 2},
                      {"tools": [tool], "tool_choice": "required", "max_output_tokens": 160},
                      {"text": {"format": {"type": "json_schema", "name": "p", "schema": PERSON}}, "max_output_tokens": 120}):
            with self.subTest(extra=extra):
                body = {**base, **extra}
                answer = self.answer("/v1/responses", body, openai.types.responses.Response)
                status, again, _ = self.server.request("/v1/responses/" + answer["id"])
                self.assertEqual((status, again), (200, answer))
                self.stream("/v1/responses", body, openai.types.responses.ResponseStreamEvent)
        answer = self.answer("/v1/responses", base, openai.types.responses.Response)
        self.answer("/v1/responses", {**base, "input": "More", "previous_response_id": answer["id"]}, openai.types.responses.Response)

    def test_messages(self):
        base = {"messages": HELLO, "max_tokens": 24, "reasoning_budget_tokens": 4, "seed": 2}
        tool = {"name": WEATHER["name"], "input_schema": WEATHER["parameters"]}
        for extra in ({}, {"stop_sequences": ["e"]}, {"thinking": {"type": "enabled", "budget_tokens": 1024}},
                      {"tools": [tool], "tool_choice": {"type": "any"}, "max_tokens": 160}):
            with self.subTest(extra=extra):
                body = {**base, **extra}
                self.answer("/v1/messages", body, anthropic.types.Message)
                self.stream("/v1/messages", body, anthropic.types.RawMessageStreamEvent, others=("ping",))
        self.answer("/v1/messages/count_tokens", {"messages": HELLO}, anthropic.types.MessageTokensCount)

    def test_models_and_embeddings(self):
        status, models, _ = self.server.request("/v1/models")
        self.assertEqual((status, models["object"]), (200, "list"))
        for model in models["data"]:
            check(openai.types.Model, model)
        for encoding in ("float", "base64"):
            answer = self.answer("/v1/embeddings", {"input": ["a", "b"], "encoding_format": encoding}, typing.Any)
            if encoding == "float":
                check(openai.types.CreateEmbeddingResponse, answer)

    def test_errors(self):
        status, body, _ = self.server.request("/v1/chat/completions", {"messages": 5})
        self.assertEqual((status, set(body)), (400, {"error"}))
        check(openai.types.shared.ErrorObject, body["error"])
        status, body, _ = self.server.request("/v1/messages", {"messages": 5})
        self.assertEqual(status, 400)
        check(anthropic.types.ErrorResponse, body)


if __name__ == "__main__":
    unittest.main()
