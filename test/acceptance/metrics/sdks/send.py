"""Sends events as the official SDK of PyPI makes them: a binary and a structured one, and one without data."""

import os

import httpx2
from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

URL = os.environ["URL"]
SOURCE = os.environ["SOURCE"]
HEADERS = {"authorization": f"Bearer {os.environ['KEY']}"}
DATA = {"value": "1", "message_id": 7, "chat_session_id": 17}


def event(identifier, data):
    attributes = {"id": identifier, "source": SOURCE, "type": "messages.user.new", "specversion": "1.0"}
    return CloudEvent({**attributes, "subject": "bob@example.com"}, data)


for message in (to_binary_event(event("binary", DATA)), to_structured_event(event("structured", DATA))):
    response = httpx2.post(URL, content=message.body, headers={**HEADERS, **message.headers})
    assert response.status_code == 202, (response.status_code, response.text)
