// Sends events as the official SDK of Go makes them: binary, structured, and without the data's media type.
package main

import (
	"context"
	"log"
	"os"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

func main() {
	client, err := cloudevents.NewClientHTTP(
		cloudevents.WithTarget(os.Getenv("URL")),
		cehttp.WithHeader("Authorization", "Bearer "+os.Getenv("KEY")),
	)
	if err != nil {
		log.Fatal(err)
	}
	plain := context.Background()
	send(client, plain, "binary", cloudevents.ApplicationJSON)
	send(client, cloudevents.WithEncodingStructured(plain), "structured", cloudevents.ApplicationJSON)
	send(client, plain, "untyped", "")
}

func send(client cloudevents.Client, ctx context.Context, id string, contentType string) {
	event := cloudevents.NewEvent()
	event.SetID(id)
	event.SetSource(os.Getenv("SOURCE"))
	event.SetType("messages.user.new")
	event.SetSubject("bob@example.com")
	data := map[string]any{"value": "1", "message_id": 7, "chat_session_id": 17}
	if err := event.SetData(contentType, data); err != nil {
		log.Fatal(err)
	}
	if result := client.Send(ctx, event); !cloudevents.IsACK(result) {
		log.Fatalf("%s: %v", id, result)
	}
}
