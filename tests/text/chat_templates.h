// Chat templates in the manner of the model families, each with what makes it different: which calls it writes and
// what it refuses.
#pragma once

#include <string>
#include <vector>

namespace terrace::text {

struct SampleTemplate {
  std::string name;
  std::string source;
  std::string format;        ///< the name that recognize_format() gives
  std::string answer_begin;  ///< what stands before an answer
  std::string answer_end;    ///< and behind it
  bool reasoning = false;    ///< writes the reasoning of the last answer
};

inline const std::vector<SampleTemplate>& sample_templates() {
  static const std::vector<SampleTemplate> list = {
      {"hermes",
       R"({%- if tools %}{{ '<|im_start|>system\nAnswer with <tool_call>\n{"name": NAME, "arguments": ARGS}\n</tool_call>' }}
{%- for tool in tools %}{{ '\n' + tool | tojson }}{% endfor %}{{ '<|im_end|>\n' }}{% endif %}
{%- for m in messages %}
  {%- if m.role == 'assistant' %}
    {{- '<|im_start|>assistant\n' }}
    {%- if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif %}
    {{- m.content }}
    {%- for call in m.tool_calls or [] %}
      {%- if m.content or not loop.first %}{{ '\n' }}{% endif %}
      {{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
      {{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
      {{- '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif m.role == 'tool' %}
    {{- '<|im_start|>user\n<tool_response>\n' + m.content + '\n</tool_response><|im_end|>\n' }}
  {%- else %}
    {{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})",
       "<think> + hermes-json", "<|im_start|>assistant\n", "<|im_end|>\n", true},
      {"qwen-xml",
       R"({%- if tools %}{{ '<|im_start|>system\n<tools>' }}
{%- for tool in tools %}{{ '\n' + tool | tojson }}{% endfor %}
{{- '\n</tools>\nCall so:\n<tool_call>\n<function=f>\n<parameter=p>\nvalue\n</parameter>\n</function>\n</tool_call>' }}
{%- if messages[0].role == 'system' %}{{ '\n\n' + messages[0].content }}{% endif %}{{ '<|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}{{ '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{% endif %}
{%- for m in messages %}
  {%- if m.role == 'system' %}
    {%- if not loop.first %}{{ raise_exception('a system message must come first') }}{% endif %}
  {%- elif m.role == 'user' %}{{ '<|im_start|>user\n' + m.content + '<|im_end|>\n' }}
  {%- elif m.role == 'assistant' %}
    {{- '<|im_start|>assistant\n<think>\n' + (m.reasoning_content or '') + '\n</think>\n\n' + m.content }}
    {%- for call in m.tool_calls or [] %}
      {{- '\n\n' if loop.first and m.content else '' if loop.first else '\n' }}
      {{- '<tool_call>\n<function=' + call.function.name + '>\n' }}
      {%- for key, value in call.function.arguments | items %}
        {{- '<parameter=' + key + '>\n' }}
        {{- value | tojson if value is mapping or (value is sequence and value is not string) else value | string }}
        {{- '\n</parameter>\n' }}
      {%- endfor %}
      {{- '</function>\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif m.role == 'tool' %}{{ '<|im_start|>user\n<tool_response>\n' + m.content + '\n</tool_response><|im_end|>\n' }}
  {%- else %}{{ raise_exception('a role that is not known: ' + m.role) }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %})",
       "<think> + qwen-xml", "<|im_start|>assistant\n", "<|im_end|>\n", true},
      {"lfm2",
       R"({%- if tools %}{{ '<|im_start|>system\nList of tools: <|tool_list_start|>' + tools | tojson + '<|tool_list_end|><|im_end|>\n' }}{% endif %}
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})",
       "no reasoning + lfm2-pythonic", "<|im_start|>assistant\n", "<|im_end|>\n"},
      {"lfm2.5",
       R"({%- if tools %}{{ '<|im_start|>system\nList of tools: ' + tools | tojson + '<|im_end|>\n' }}{% endif %}
{%- for m in messages %}
  {{- '<|im_start|>' + m.role + '\n' }}
  {%- if m.thinking is defined %}{{ '<think>' + m.thinking + '</think>' }}{% endif %}
  {{- m.content }}
  {%- if m.tool_calls is defined %}
    {{- '<|tool_call_start|>[' }}
    {%- for call in m.tool_calls %}
      {{- call.function.name + '(' }}
      {%- for key, value in call.function.arguments.items() %}
        {{- key + '=' }}
        {{- "'" + value + "'" if value is string else value | tojson if value is mapping else value | string }}
        {{- ', ' if not loop.last }}
      {%- endfor %}
      {{- ')' + (', ' if not loop.last else '') }}
    {%- endfor %}
    {{- ']<|tool_call_end|>' }}
  {%- endif %}
  {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})",
       "<think> + lfm2-pythonic", "<|im_start|>assistant\n", "<|im_end|>\n", true},
      {"granite",
       R"({%- if tools %}{{ '<|start_of_role|>tools<|end_of_role|>Use <|tool_call|>: ' + tools | tojson + '<|end_of_text|>\n' }}{% endif %}
{%- for m in messages %}{{ '<|start_of_role|>' + m.role + '<|end_of_role|>' + m.content + '<|end_of_text|>\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_of_role|>assistant<|end_of_role|>' }}{% endif %}
{#- Between <think></think> and <response></response>. #})",
       "granite-think + granite-list", "<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>\n"},
      {"gemma",
       R"({%- macro value(v) %}
  {%- if v is string %}{{ '<|"|>' + v + '<|"|>' }}
  {%- elif v is boolean %}{{ 'true' if v else 'false' }}
  {%- elif v is mapping %}{{ '{' }}{% for k, x in v | dictsort %}{{ k + ':' + value(x) + (',' if not loop.last else '') }}{% endfor %}{{ '}' }}
  {%- elif v is sequence %}{{ '[' }}{% for x in v %}{{ value(x) + (',' if not loop.last else '') }}{% endfor %}{{ ']' }}
  {%- else %}{{ v }}{% endif %}
{%- endmacro %}
{%- if tools %}{{ '<|turn>system\n' }}{% for tool in tools %}{{ '<|tool>' + tool.function.name + '<tool|>' }}{% endfor %}{{ '<turn|>\n' }}{% endif %}
{%- for m in messages %}
  {%- if m.role == 'tool' %}{{ '<|tool_response>response:' + m.name + value({'value': m.content}) + '<tool_response|>' }}
  {%- else %}
    {{- '<|turn>' + ('model' if m.role == 'assistant' else m.role) + '\n' }}
    {%- if m.reasoning_content %}{{ '<|channel>thought\n' + m.reasoning_content + '\n<channel|>' }}{% endif %}
    {%- for call in m.tool_calls or [] %}
      {{- '<|tool_call>call:' + call.function.name }}
      {{- value(call.function.arguments) if call.function.arguments is mapping else '{' + call.function.arguments + '}' }}
      {{- '<tool_call|>' }}
    {%- endfor %}
    {{- m.content + '<turn|>\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|turn>model\n' }}{% endif %})",
       "gemma-thought + gemma-call", "<|turn>model\n", "<turn|>\n", true},
      {"llama3",
       R"({%- if tools %}{{ '<|start_header_id|>system<|end_header_id|>\n\nRespond in the format {"name": function name, "parameters": values}.' }}
{%- for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<|eot_id|>' }}{% endif %}
{%- for m in messages %}
  {{- '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' }}
  {%- if 'tool_calls' in m %}
    {%- if m.tool_calls | length != 1 %}{{ raise_exception('one call at a time') }}{% endif %}
    {{- '{"name": "' + m.tool_calls[0].function.name + '", "parameters": ' + m.tool_calls[0].function.arguments | tojson + '}' }}
  {%- else %}{{ m.content }}{% endif %}
  {{- '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})",
       "no reasoning + llama3-json", "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
      {"mistral-list",
       R"({%- for m in messages %}
  {%- if m.role == 'user' %}{{ ('[AVAILABLE_TOOLS]' + tools | tojson if tools else '') + '[INST]' + m.content + '[/INST]' }}
  {%- elif m.tool_calls is defined %}
    {{- '[TOOL_CALLS][' }}
    {%- for call in m.tool_calls %}
      {%- if call.id is not string or call.id | length != 9 %}{{ raise_exception('an id has nine letters') }}{% endif %}
      {{- (call.function | tojson)[:-1] + ', "id": "' + call.id + '"}' + (', ' if not loop.last else '') }}
    {%- endfor %}
    {{- ']</s>' }}
  {%- elif m.role == 'assistant' %}{{ m.content + '</s>' }}
  {%- elif m.role == 'tool' %}
    {%- if m.tool_call_id | length != 9 %}{{ raise_exception('an id has nine letters') }}{% endif %}
    {{- '[TOOL_RESULTS]' + m.content + '[/TOOL_RESULTS]' }}
  {%- else %}{{ raise_exception('only user, assistant and tool') }}{% endif %}
{%- endfor %})",
       "no reasoning + mistral-list", "[/INST]", "</s>"},
      {"mistral-args",
       R"({%- for m in messages %}
  {%- if m.role == 'user' %}{{ ('[AVAILABLE_TOOLS]' + tools | tojson if tools else '') + '[INST]' + m.content + '[/INST]' }}
  {%- elif m.tool_calls is defined %}
    {%- for call in m.tool_calls %}{{ '[TOOL_CALLS]' + call.function.name + '[ARGS]' + call.function.arguments | tojson }}{% endfor %}
    {{- '</s>' }}
  {%- elif m.role == 'assistant' %}{{ m.content + '</s>' }}
  {%- elif m.role == 'tool' %}{{ '[TOOL_RESULTS]' + m.content + '[/TOOL_RESULTS]' }}
  {%- else %}{{ '[SYSTEM_PROMPT]' + m.content + '[/SYSTEM_PROMPT]' }}{% endif %}
{%- endfor %})",
       "no reasoning + mistral-args", "[/INST]", "</s>"},
      {"harmony",
       R"({%- if tools %}{{ '<|start|>developer<|message|>' }}{% for tool in tools %}{{ tool.function.name }}{% endfor %}{{ '<|end|>' }}{% endif %}
{%- for m in messages %}
  {%- if m.role == 'assistant' %}
    {%- if m.tool_calls and m.content and m.thinking %}{{ raise_exception('content or thinking, not both') }}{% endif %}
    {%- if m.thinking %}{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{% endif %}
    {%- if m.tool_calls %}
      {%- if m.content %}{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.content + '<|end|>' }}{% endif %}
      {%- set f = m.tool_calls[0].function %}
      {{- '<|start|>assistant to=functions.' + f.name + '<|channel|>commentary json<|message|>' + f.arguments | tojson + '<|call|>' }}
    {%- else %}{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' }}{% endif %}
  {%- elif m.role == 'tool' %}{{ '<|start|>functions to=assistant<|channel|>commentary<|message|>' + m.content | tojson + '<|end|>' }}
  {%- else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %})",
       "harmony", "<|start|>user<|message|>Hello<|end|>", "", true},
      {"nothing",
       R"({%- for m in messages %}
  {%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('user and assistant must take turns') }}{% endif %}
  {{- '<' + m.role + '>' + m.content + '</s>' }}
{%- endfor %})",
       "no reasoning + generic hermes-json", "<assistant>", "</s>"},
  };
  return list;
}

}  // namespace terrace::text
