package feedback

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// errMedia is returned for a content type that is not JSON.
var errMedia = errors.New("send application/json, application/cloudevents+json or application/cloudevents-batch+json")

// read takes the events out of a delivery: plain JSON, or CloudEvents 1.0 in binary,
// structured or batched mode. A delivery id of the transport goes before one in the body, and webhook-id before ce-id: a
// signature covers webhook-id, and no header of CloudEvents.
func read(h http.Header, body []byte) ([]Event, error) {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return nil, errMedia
	}
	switch media {
	case "application/cloudevents+json":
		return structured(body)
	case "application/cloudevents-batch+json":
		var batch []json.RawMessage
		if err := json.Unmarshal(body, &batch); err != nil {
			return nil, fmt.Errorf("the batch is not a JSON array: %w", err)
		}
		var all []Event
		for i, raw := range batch {
			events, err := structured(raw)
			if err != nil {
				return nil, fmt.Errorf("event %d: %w", i, err)
			}
			all = append(all, events...)
		}
		return all, nil
	case "application/json":
	default:
		return nil, errMedia
	}
	events, err := decode(body)
	if err != nil {
		return nil, err
	}
	if h.Get("ce-specversion") != "" { // binary mode: the attributes are headers
		if events, err = attributed(events, h.Get("ce-specversion"), h.Get("ce-source"), h.Get("ce-id"), h.Get("ce-type")); err != nil {
			return nil, err
		}
	}
	if id := h.Get("webhook-id"); id != "" {
		identify(events, "webhook:"+id)
	}
	return events, nil
}

// structured reads one event of the structured mode.
func structured(body []byte) ([]Event, error) {
	var ce struct {
		SpecVersion string          `json:"specversion"`
		ID          string          `json:"id"`
		Source      string          `json:"source"`
		Type        string          `json:"type"`
		ContentType string          `json:"datacontenttype"`
		Data        json.RawMessage `json:"data"`
		DataBase64  string          `json:"data_base64"`
	}
	if err := json.Unmarshal(body, &ce); err != nil {
		return nil, fmt.Errorf("the CloudEvent is not readable: %w", err)
	}
	if ce.ContentType != "" {
		if media, _, err := mime.ParseMediaType(ce.ContentType); err != nil || media != "application/json" {
			return nil, fmt.Errorf("datacontenttype is %q; write application/json", ce.ContentType)
		}
	}
	if ce.DataBase64 != "" {
		data, err := base64.StdEncoding.DecodeString(ce.DataBase64)
		if err != nil {
			return nil, fmt.Errorf("data_base64: %w", err)
		}
		ce.Data = data
	}
	if !present(ce.Data) {
		return nil, errors.New("the CloudEvent has no data")
	}
	events, err := decode(ce.Data)
	if err != nil {
		return nil, err
	}
	return attributed(events, ce.SpecVersion, ce.Source, ce.ID, ce.Type)
}

// attributed gives events the identity of a CloudEvent: source and id together.
func attributed(events []Event, version, source, id, kind string) ([]Event, error) {
	switch {
	case version != "1.0":
		return nil, fmt.Errorf("specversion is %q; send CloudEvents 1.0", version)
	case source == "" || id == "" || kind == "":
		return nil, errors.New("a CloudEvent has id, source and type")
	}
	identify(events, "cloudevent:"+source+" "+id)
	return events, nil
}

// identify gives the events of one delivery its id.
func identify(events []Event, id string) {
	for i := range events {
		events[i].ID = id
		if len(events) > 1 {
			events[i].ID = fmt.Sprintf("%s#%d", id, i)
		}
	}
}
