"""Requests that must be refused: (path, body, status, what the message says). A body of bytes is sent as it is."""

CHAT, COMPLETE, RESPOND = "/v1/chat/completions", "/v1/completions", "/v1/responses"
MESSAGES, COUNT, EMBED = "/v1/messages", "/v1/messages/count_tokens", "/v1/embeddings"
HELLO = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def chat(message, **fields):
    return CHAT, {"messages": HELLO, **fields}, 400, message


def complete(message, **fields):
    return COMPLETE, {"prompt": "x", **fields}, 400, message


def respond(message, **fields):
    return RESPOND, {"input": "x", **fields}, 400, message


def claude(message, **fields):
    return MESSAGES, {"messages": HELLO, "max_tokens": 5, **fields}, 400, message


def schema(message, value):
    return chat(message, response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": value}})


def grammar(message, text):
    return complete(message, grammar=text)


BODIES = [(path, body, 400, message)
          for path in (CHAT, COMPLETE, RESPOND, MESSAGES, COUNT, EMBED, "/tokenize", "/detokenize", "/apply-template")
          for body, message in ((b"", "not JSON"), (b"{", "not JSON"), (b"[1]", "must be a JSON object"), (b"{\"a\":\xff}", "not JSON"))]

DEEP = [
    (CHAT, b'{"x":' + b"[" * 10000 + b"]" * 10000 + b"}", 400, "levels of brackets"),
    (CHAT, b'{"messages":[{"role":"user","content":"x"}],"tools":[' + b"[" * 3000 + b"]" * 3000 + b"]}", 400, "levels of brackets"),
    (RESPOND, b'{"input":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", 400, "levels of brackets"),
]

# Each field of the wrong type, with its path.
NUMBERS = ["temperature", "top_k", "top_p", "min_p", "typical_p", "xtc_probability", "xtc_threshold", "repeat_last_n",
           "repeat_penalty", "frequency_penalty", "presence_penalty", "dry_multiplier", "dry_base", "dry_allowed_length",
           "dry_penalty_last_n", "mirostat", "mirostat_tau", "mirostat_eta", "min_keep", "seed", "max_tokens",
           "max_completion_tokens", "n", "dynatemp_range", "dynatemp_exponent", "n_predict"]
FLAGS = ["stream", "ignore_eos", "cache_prompt", "return_progress", "logprobs", "parallel_tool_calls"]
TYPES = [chat(f"{field}: must be", **{field: "1"}) for field in NUMBERS]
TYPES += [chat(f"{field}: must be a boolean, not a string", **{field: "true"}) for field in FLAGS]
TYPES += [
    chat("stop: must be a string or a list of strings, not a number", stop=5),
    chat("stop[1]: must be a string, not a number", stop=["a", 5]),
    chat("stop: each stop string must have", stop=""),
    chat("stop: has 100 entries", stop=["a"] * 100),
    chat("tools: must be a list, not an object", tools={}),
    chat("tools[0]: must be an object, not a string", tools=["f"]),
    chat("stream_options: must be an object, not a list", stream_options=[]),
    chat("stream_options: ", stream_options={"include_usage": 1}),
    chat("logit_bias: must be an object or a list", logit_bias=3),
    chat("logit_bias: the token 99999999 does not exist", logit_bias={"99999999": 1}),
    chat("logit_bias: the token -1 does not exist", logit_bias=[[-1, 1]]),
    chat("logit_bias: a bias must be a number", logit_bias={"5": "x"}),
    chat("logit_bias: as a list, each entry", logit_bias=[5]),
    chat("logit_bias: a token is given by", logit_bias=[[[], 1]]),
    chat("samplers: must be a string or a list", samplers={}),
    chat("dry_sequence_breakers", dry_sequence_breakers=[""]),
    chat("chat_template_kwargs: must be an object", chat_template_kwargs=[]),
    chat("reasoning_budget_tokens: ", reasoning_budget_tokens=-1),
    chat("reasoning_effort: must be a string", reasoning_effort=1),
]

RANGES = [
    chat("n: is 0; it must be from 1 to", n=0),
    chat("n: is 1000; it must be from 1 to", n=1000),
    chat("n: is 1.5; it must be a whole number", n=1.5),
    chat("top_logprobs: is 21; it must be from 0 to 20", logprobs=True, top_logprobs=21),
    chat("top_logprobs: needs logprobs", top_logprobs=2),
    chat("max_tokens: is -2", max_tokens=-2),
    chat("top_p", top_p=1.5),
    chat("top_p", top_p=-0.1),
    chat("min_p", min_p=2),
    chat("typical_p", typical_p=-1),
    chat("repeat_penalty", repeat_penalty=0),
    chat("repeat_last_n", repeat_last_n=-2),
    chat("xtc_probability", xtc_probability=1.1),
    chat("mirostat", mirostat=3),
    chat("dry_base", dry_base=-1),
    chat("1e+300", seed=1e300),
    chat("temperature", temperature=1e9),
    chat("more were asked for; this model's context holds", max_tokens=100000),
    complete("logprobs: is 100; it must be from 0 to 20", logprobs=100),
    complete("logprobs: must be a whole number", logprobs=True),
]

CHATS = [
    (CHAT, {}, 400, "messages: is missing"),
    (CHAT, {"messages": []}, 400, "messages: is empty"),
    (CHAT, {"messages": "Hello"}, 400, "messages: must be a list, not a string"),
    (CHAT, {"messages": ["Hello"]}, 400, "messages[0]: must be an object, not a string"),
    (CHAT, {"messages": [{}]}, 400, "messages[0].role: is missing"),
    (CHAT, {"messages": [{"role": 5, "content": "x"}]}, 400, "messages[0].role: must be a string"),
    (CHAT, {"messages": [*HELLO, {"role": "user", "content": 5}]}, 400, "messages[1].content"),
    (CHAT, {"messages": [{"role": "user", "content": {"text": "x"}}]}, 400, "messages[0].content"),
    (CHAT, {"messages": [{"role": "user", "content": [5]}]}, 400, "messages[0].content[0]"),
    (CHAT, {"messages": [{"role": "user", "content": [{"text": "x"}]}]}, 400, "messages[0].content[0]"),
    (CHAT, {"messages": [{"role": "user", "content": [{"type": "text"}]}]}, 400, "messages[0].content[0]"),
    (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, 400,
     "messages[0].content[0]: content of type image_url is not supported"),
    (CHAT, {"messages": [*HELLO, {"role": "assistant", "tool_calls": 5}]}, 400, "messages[1].tool_calls"),
    (CHAT, {"messages": [*HELLO, {"role": "assistant", "tool_calls": [5]}]}, 400, "messages[1].tool_calls[0]"),
    (CHAT, {"messages": [*HELLO, {"role": "assistant", "tool_calls": [{"id": "x"}]}]}, 400, "messages[1].tool_calls[0].function"),
    (CHAT, {"messages": [*HELLO, {"role": "assistant", "tool_calls": [{"function": {}}]}]}, 400, "messages[1].tool_calls[0].function.name"),
    (CHAT, {"messages": [{"role": "user", "content": "long " * 3000}]}, 400, "this model's context holds 1024"),
    chat("tool_choice: asks for a call, but there are no tools", tool_choice="required"),
    chat("tool_choice: is 'sometimes'; it must be one of", tools=[TOOL], tool_choice="sometimes"),
    chat("tool_choice: must name a function", tools=[TOOL], tool_choice={"type": "function"}),
    chat("tool_choice: there is no function g in tools", tools=[TOOL], tool_choice={"type": "function", "function": {"name": "g"}}),
    chat("tool_choice: asks for a call, but there is no function", tools=[{"type": "web_search"}], tool_choice="required"),
    chat("tools", tools=[{"type": "function", "function": {"name": "f", "strict": True, "parameters": {"type": "nonsense"}}}], tool_choice="required"),
    chat("response_format: must be an object", response_format="json"),
    chat("response_format.type: is missing", response_format={}),
    chat("response_format.type: is 'xml'; it must be one of", response_format={"type": "xml"}),
    chat("response_format.json_schema: must hold a schema", response_format={"type": "json_schema"}),
    chat("response_format.json_schema.schema: must be an object", response_format={"type": "json_schema", "json_schema": {"schema": 5}}),
    chat("cannot be followed together", grammar='root ::= "a"', response_format={"type": "json_object"}),
    complete("not both", grammar='root ::= "a"', json_schema={"type": "object"}),
    complete("json_schema: must be an object", json_schema="x"),
]

SCHEMAS = [
    schema("type", {"type": "strin"}),
    schema("type", {"type": 5}),
    schema("pattern", {"type": "string", "pattern": "^all is well\\!$"}),
    schema("pattern", {"type": "string", "pattern": "(?=a)b"}),
    schema("pattern", {"type": "string", "pattern": "(a)\\1"}),
    schema("pattern", {"type": "string", "pattern": "(((("}),
    schema("pattern", {"type": "string", "pattern": "(?<!a)b*"}),
    schema("properties.a.pattern", {"type": "object", "properties": {"a": {"type": "string", "pattern": "["}}}),
    schema("uniqueItems", {"type": "array", "uniqueItems": True}),
    schema("multipleOf", {"type": "integer", "multipleOf": 7}),
    schema("not", {"not": {"type": "string"}}),
    schema("patternProperties", {"type": "object", "patternProperties": {"^a": {}}}),
    schema("$ref", {"$ref": "#/$defs/missing"}),
    schema("$ref", {"$ref": "https://example.org/schema"}),
    schema("", {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}),
    schema("minItems", {"type": "array", "minItems": 5, "maxItems": 2}),
    schema("minLength", {"type": "string", "minLength": -1}),
    schema("enum", {"enum": []}),
    schema("required", {"type": "object", "required": "a"}),
    schema("properties", {"type": "object", "properties": []}),
    schema("", {"type": "string", "minLength": 1000000000}),
    schema("anyOf", {"anyOf": []}),
    schema("anyOf", {"anyOf": 5}),
]

GRAMMARS = [
    grammar("grammar", "answer ::= 'yes'"),
    grammar("grammar", 'root ::= "unclosed'),
    grammar("grammar", "root ::= unknown"),
    grammar("grammar", "root ::= [a-"),
    grammar("grammar", 'root ::= "a"{5,2}'),
    grammar("grammar", "root ::= " + "(" * 60000),
    grammar("grammar", 'root ::= "a"{1000000000}'),
    grammar("grammar", "root ::= root"),
    grammar("grammar", "::="),
    grammar("grammar: must be a string", 5),
]

COMPLETIONS = [
    (COMPLETE, {}, 400, "prompt: is missing"),
    (COMPLETE, {"prompt": []}, 400, "prompt: must be a text"),
    (COMPLETE, {"prompt": {}}, 400, "prompt: must be a text"),
    (COMPLETE, {"prompt": [-1]}, 400, "prompt[0]: must be a token"),
    (COMPLETE, {"prompt": [4294967295]}, 400, "prompt[0]: must be a token"),
    (COMPLETE, {"prompt": [1, "x"]}, 400, "prompt[1]: must be a token"),
    (COMPLETE, {"prompt": [1.5]}, 400, "prompt[0]: must be a token"),
    (COMPLETE, {"prompt": ["a", 5]}, 400, "prompt[1]: must be a text or a list of tokens"),
    (COMPLETE, {"prompt": [["a"]]}, 400, "prompt[0][0]: must be a token"),
    (COMPLETE, {"prompt": ["a"] * 100}, 400, "prompt: has 100 entries"),
    (COMPLETE, {"prompt": [1] * 2000}, 400, "the prompt has 2000 tokens; this model's context holds 1024"),
    complete("suffix: is not supported", suffix="end"),
    complete("echo: with these logprobs would give", echo=True, logprobs=20, n=16, prompt=[[5] * 100] * 64),
]

RESPONSES = [
    (RESPOND, {}, 400, "input: is missing"),
    (RESPOND, {"input": 5}, 400, "input: must be a text or a list of items"),
    (RESPOND, {"input": []}, 400, "input: is empty"),
    (RESPOND, {"input": [5]}, 400, "input[0]: must be an object"),
    (RESPOND, {"input": [{"content": "x"}]}, 400, "input[0].role: is missing"),
    (RESPOND, {"input": [{"role": "user"}]}, 400, "input[0].content: is missing"),
    (RESPOND, {"input": [{"type": "computer_call"}]}, 400, "input[0].type: is 'computer_call'"),
    (RESPOND, {"input": [{"type": "function_call", "call_id": "x"}]}, 400, "input[0].name: is missing"),
    respond("previous_response_id: there is no response 'resp_x' here", previous_response_id="resp_x"),
    respond("instructions: must be a string", instructions=5),
    respond("text.format.schema: is missing", text={"format": {"type": "json_schema"}}),
    respond("text.format.type: is 'x'", text={"format": {"type": "x"}}),
    respond("reasoning: must be an object", reasoning="high"),
    respond("tools[0]: must be", tools=[{"type": 5}]),
    respond("tools[0]: must be", tools=[{"type": "function", "name": 5}]),
    respond("max_output_tokens: must be a whole number", max_output_tokens="5"),
]

ANTHROPIC = [
    (MESSAGES, {"messages": HELLO}, 400, "max_tokens: is missing"),
    (MESSAGES, {"max_tokens": 5}, 400, "messages: is missing"),
    (MESSAGES, {"max_tokens": 5, "messages": []}, 400, "messages: is empty"),
    claude("messages[0].role: is 'tool'", messages=[{"role": "tool", "content": "x"}]),
    claude("messages[0].content: is missing", messages=[{"role": "user"}]),
    claude("messages[0].content[0].type: is 'image'", messages=[{"role": "user", "content": [{"type": "image"}]}]),
    claude("messages[0].content[0].tool_use_id: is missing", messages=[{"role": "user", "content": [{"type": "tool_result"}]}]),
    claude("messages[0].content[0].name: is missing", messages=[{"role": "assistant", "content": [{"type": "tool_use", "id": "x"}]}]),
    claude("messages[0].content[0].input: must be an object", messages=[{"role": "assistant", "content": [{"type": "tool_use", "name": "x", "input": 5}]}]),
    claude("messages[0].content: must be a text or a list of blocks", messages=[{"role": "user", "content": 5}]),
    claude("system: must be a text or a list of blocks", system=5),
    claude("system[0].type: is 'image'", system=[{"type": "image"}]),
    claude("tools[0].name: is missing", tools=[{}]),
    claude("tool_choice: asks for a call", tool_choice={"type": "any"}),
    claude("tool_choice.type: is 'x'", tool_choice={"type": "x"}),
    claude("tool_choice.name: is missing", tools=[{"name": "f"}], tool_choice={"type": "tool"}),
    claude("thinking.type: is 'x'", thinking={"type": "x"}),
    claude("stop_sequences", stop_sequences=5),
    (COUNT, {}, 400, "messages: is missing"),
]

OTHERS = [
    (EMBED, {}, 400, "input: is missing"),
    (EMBED, {"input": ""}, 400, "input: is empty"),
    (EMBED, {"input": 5}, 400, "input: must be a text or a list of tokens"),
    (EMBED, {"input": [99999999]}, 400, "input: must hold tokens"),
    (EMBED, {"input": ["x", ""]}, 400, "input[1]: is empty"),
    (EMBED, {"input": "x", "encoding_format": "hex"}, 400, "encoding_format: is 'hex'"),
    (EMBED, {"input": "x", "dimensions": 3}, 400, "dimensions: is 3"),
    (EMBED, {"input": "word " * 3000}, 400, "this model's context holds 1024"),
    (EMBED, {"input": ["x"] * 1000}, 400, "input: has 1000 entries"),
    ("/tokenize", {}, 400, "content: is missing"),
    ("/tokenize", {"content": 5}, 400, "content: must be a string"),
    ("/tokenize", {"content": "x", "add_special": 1}, 400, "add_special: must be a boolean"),
    ("/detokenize", {}, 400, "tokens: is missing"),
    ("/detokenize", {"tokens": [-1]}, 400, "tokens[0]: must be a token"),
    ("/detokenize", {"tokens": ["x"]}, 400, "tokens[0]: must be a token"),
    ("/apply-template", {"messages": 5}, 400, "messages: must be a list"),
    ("/v1/nothing", {}, 404, "there is nothing at /v1/nothing"),
    ("/../etc/passwd", {}, 404, "there is nothing at"),
    ("/%2e%2e/%2e%2e/etc/passwd", {}, 404, "there is nothing at"),
    ("/health", {}, 405, "does not take POST"),
]

CASES = (BODIES + DEEP + TYPES + RANGES + CHATS + SCHEMAS + GRAMMARS + COMPLETIONS + RESPONSES + ANTHROPIC + OTHERS)
