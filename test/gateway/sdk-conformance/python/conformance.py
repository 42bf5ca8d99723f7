"""The official SDK of PyPI, unmodified, with a base URL and a key.

Runs every function whose name begins with `test_`, and prints a line of JSON for each: {"name", "error"}.
"""

import asyncio
import json
import os
import sys
import time
import traceback
import urllib.request
import uuid

import openai
from pydantic import BaseModel

BASE_URL = os.environ["BASE_URL"]
API_KEY = os.environ["API_KEY"]
MOCK_URL = os.environ["MOCK_URL"]
PREFIX = os.environ["MODEL_PREFIX"]
EMBEDDING_MODEL = os.environ["EMBEDDING_MODEL"]
KIND = os.environ["KIND"]
IS_GATEWAY = os.environ["IS_GATEWAY"] == "true"

HELLO = [{"role": "user", "content": "hello there"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    },
}


def client(**options):
    return openai.OpenAI(**{"base_url": BASE_URL, "api_key": API_KEY, "max_retries": 0, "timeout": 20, **options})


def chat(model="ok", sdk=None, **options):
    sdk = sdk or client()
    return sdk.chat.completions.create(**{"model": PREFIX + model, "messages": HELLO, **options})


def raises(kind, act):
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def seen(key):
    with urllib.request.urlopen(f"{MOCK_URL}/mock/state?key={key}") as answer:
        return json.load(answer)


def eventually(what, condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, f"in vain waited for: {what}"
        time.sleep(0.02)


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_chat_completion():
    completion = chat()
    assert completion.choices[0].message.content == "You said: hello there"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens > 0
    assert completion._request_id


def test_stream():
    for model in ["ok", "shards", "crlf", "gzip"]:
        chunks = list(chat(model, stream=True, stream_options={"include_usage": True}))
        assert text_of(chunks) == "You said: hello there", model
        assert len({chunk.id for chunk in chunks}) == 1
        assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0


def test_stream_without_usage():
    chunks = list(chat(stream=True))
    assert all(chunk.usage is None and len(chunk.choices) == 1 for chunk in chunks)


def test_stream_helper():
    with client().chat.completions.stream(model=PREFIX + "ok", messages=HELLO) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content == "You said: hello there"


def test_async_stream():
    async def run():
        async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0) as sdk:
            stream = await sdk.chat.completions.create(model=PREFIX + "ok", messages=HELLO, stream=True)
            return [chunk async for chunk in stream]

    assert text_of(asyncio.run(run())) == "You said: hello there"


def test_tools():
    choice = chat(tools=[WEATHER]).choices[0]
    call = choice.message.tool_calls[0]
    assert choice.finish_reason == "tool_calls"
    assert call.function.name == "weather" and json.loads(call.function.arguments) == {"city": "Paris", "days": 7}
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    answer = chat(tools=[WEATHER], messages=[*HELLO, choice.message.to_dict(), result])
    assert answer.choices[0].finish_reason == "stop"


def test_streamed_tools():
    with client().chat.completions.stream(model=PREFIX + "ok", messages=HELLO, tools=[WEATHER]) as stream:
        for _ in stream:
            pass
        call = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert json.loads(call.function.arguments) == {"city": "Paris", "days": 7}


def test_images_in_messages():
    content = [
        {"type": "text", "text": "this:"},
        {"type": "image_url", "image_url": {"url": "https://images.example/a.png"}},
    ]
    answer = chat(messages=[{"role": "user", "content": content}])
    assert answer.choices[0].message.content == "You said: this: [image https://images.example/a.png]"


class Weather(BaseModel):
    city: str
    sunny: bool


def test_structured_output():
    completion = client().chat.completions.parse(model=PREFIX + "ok", messages=HELLO, response_format=Weather)
    assert completion.choices[0].message.parsed == Weather(city="Paris", sunny=True)


def test_raw_response():
    raw = client().chat.completions.with_raw_response.create(model=PREFIX + "ok", messages=HELLO)
    assert raw.status_code == 200 and raw.headers["content-type"].startswith("application/json")
    assert raw.request_id
    assert raw.parse().choices[0].message.content == "You said: hello there"


def test_streaming_response():
    sdk = client().chat.completions.with_streaming_response
    with sdk.create(model=PREFIX + "ok", messages=HELLO) as raw:
        assert raw.parse().choices[0].finish_reason == "stop"


def test_large_answer():
    assert len(chat("big", max_tokens=2_000_000).choices[0].message.content) > 5 * 1024 * 1024


def test_models():
    sdk = client()
    models = list(sdk.models.list())
    assert PREFIX + "ok" in [model.id for model in models]
    assert all(model.object == "model" and model.owned_by for model in models)
    assert sdk.models.retrieve(PREFIX + "ok").id == PREFIX + "ok"
    raises(openai.NotFoundError, lambda: sdk.models.retrieve("no-such-model"))


def test_error_classes():
    classes = {
        400: openai.BadRequestError,
        404: openai.NotFoundError,
        409: openai.ConflictError,
        422: openai.UnprocessableEntityError,
        429: openai.RateLimitError,
        500: openai.InternalServerError,
        503: openai.InternalServerError,
    }
    for status, kind in classes.items():
        for stream in [False, True]:
            error = raises(kind, lambda: chat(f"status-{status}", stream=stream))
            assert error.status_code == status, error
            assert set(error.body) >= {"message", "type", "param", "code"}, error.body


def test_unknown_model():
    error = raises(openai.NotFoundError, lambda: client().chat.completions.create(model="no-such-model", messages=HELLO))
    assert error.code == "model_not_found"


def test_broken_streams():
    for model in ["die-mid", "error-mid"]:
        kind = openai.APIError if IS_GATEWAY else Exception
        raises(kind, lambda: list(chat(model, stream=True)))


def test_completions():
    asked = {"model": PREFIX + "ok", "prompt": "once upon a time"}
    assert client().completions.create(**asked).choices[0].text == "You said: once upon a time"
    chunks = client().completions.create(**asked, stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == "You said: once upon a time"


def test_embeddings():
    asked = {"model": EMBEDDING_MODEL, "input": ["eins", "zwei"]}
    encoded = client().embeddings.create(**asked)
    plain = client().embeddings.create(**asked, encoding_format="float")
    for one, other in zip(encoded.data, plain.data, strict=True):
        assert one.index == other.index and len(one.embedding) == 8
        assert all(abs(a - b) < 1e-6 for a, b in zip(one.embedding, other.embedding, strict=True))
    assert len(client().embeddings.create(**{**asked, "input": "eins"}, dimensions=3).data[0].embedding) == 3
    assert len(client().embeddings.create(**{**asked, "input": [1, 2, 3]}).data) == 1


def test_images():
    images = client().images.generate(model=PREFIX + "ok", prompt="a cat", n=2)
    assert images.created > 0 and all(image.b64_json for image in images.data)


def test_unknown_fields_pass():
    key = str(uuid.uuid4())
    chat(extra_body={"x_unknown": {"a": [1, None]}, "mock": {"key": key}}, user="somebody")
    body = json.loads(seen(key)["last"][-1]["body"])
    assert body["x_unknown"] == {"a": [1, None]} and body["user"] == "somebody"


def test_retries():
    key = str(uuid.uuid4())
    mock = {"key": key, "fault": "status-429", "times": 1, "retry-after-ms": 300}
    assert chat(sdk=client(max_retries=2), extra_body={"mock": mock}).choices
    arrivals = seen(key)["arrivals"]
    assert len(arrivals) == 2 and arrivals[1] - arrivals[0] >= 295


def test_timeout_cancels():
    key = str(uuid.uuid4())
    hasty = client(timeout=0.3)
    raises(openai.APITimeoutError, lambda: chat(sdk=hasty, extra_body={"mock": {"key": key, "fault": "hang"}}))
    eventually("the request to be cancelled", lambda: len(seen(key)["cancelled"]) == 1)


def test_leaving_cancels():
    key = str(uuid.uuid4())
    stream = chat(stream=True, extra_body={"mock": {"key": key, "fault": "hang-mid"}})
    next(iter(stream))
    stream.close()
    eventually("the request to be cancelled", lambda: len(seen(key)["cancelled"]) == 1)


def test_wrong_key():
    if not IS_GATEWAY:
        return
    error = raises(openai.AuthenticationError, lambda: chat(sdk=client(api_key="sk-wrong")))
    assert error.code == "invalid_api_key"


# Anthropic has chat alone, and no unknown fields in which the mock could be told what to do.
ABSENT = {
    "anthropic": [
        *["test_completions", "test_embeddings", "test_images", "test_unknown_fields_pass"],
        *["test_retries", "test_timeout_cancels", "test_leaving_cancels"],
    ],
}

for name, function in list(globals().items()):
    if not name.startswith("test_") or name in ABSENT.get(KIND, []):
        continue
    failure = None
    try:
        function()
    except Exception:
        failure = traceback.format_exc()
    print(json.dumps({"name": name, "error": failure}), flush=True)

sys.exit(0)
