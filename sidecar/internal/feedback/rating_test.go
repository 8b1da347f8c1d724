package feedback

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEveryRatingIsMappedToOneToFive(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       float64
		source     Source
		err        string
	}{
		{"a score is taken as it is", `{"retrieval":"r","score":4}`, 4, Human, ""},
		{"a thumb up is 5", `{"retrieval":"r","thumb":"up"}`, 5, Human, ""},
		{"a thumb down is 1", `{"retrieval":"r","thumb":"down","source":"llm"}`, 1, LLM, ""},
		{"a thumb may be a boolean", `{"retrieval":"r","thumb":false}`, 1, Human, ""},
		{"F1 is 1 + 4x", `{"retrieval":"r","value":0.5,"scale":"0-1","source":"ground_truth"}`, 3, GroundTruth, ""},
		{"a boolean value", `{"retrieval":"r","value":true,"scale":"boolean"}`, 5, Human, ""},
		{"a value of stars", `{"retrieval":"r","value":2.5,"scale":"1-5"}`, 2.5, Human, ""},
		{"reference answers alone need the evaluator gold", `{"retrieval":"r","answer":"x","evaluator":"gold"}`, 0, Human, ""},

		{"a score of 0 is refused", `{"retrieval":"r","score":0}`, 0, "", "write a number from 1 to 5"},
		{"a score of 6 is refused", `{"retrieval":"r","score":6}`, 0, "", "write a number from 1 to 5"},
		{"NaN as text is refused", `{"retrieval":"r","score":"NaN"}`, 0, "", `score is "NaN"; write a number`},
		{"a number beyond float64 is refused", `{"retrieval":"r","score":1e999}`, 0, "", "score is 1e999"},
		{"a value beyond its scale is refused", `{"retrieval":"r","value":1.5,"scale":"0-1"}`, 0, "", "not on the scale 0-1"},
		{"a value needs a scale", `{"retrieval":"r","value":1}`, 0, "", "value without scale"},
		{"a boolean is no star", `{"retrieval":"r","score":true}`, 0, "", "score is a boolean"},
		{"an unknown scale is named", `{"retrieval":"r","value":1,"scale":"0-10"}`, 0, "", `scale is "0-10"`},
		{"two ratings are one too many", `{"retrieval":"r","score":1,"thumb":"up"}`, 0, "", "more than one rating"},
		{"no rating is none", `{"retrieval":"r"}`, 0, "", "no rating"},
		{"an unknown field is named", `{"retrieval":"r","score":1,"stars":5}`, 0, "", `unknown field "stars"`},
		{"an unknown source is named", `{"retrieval":"r","score":1,"source":"robot"}`, 0, "", `source is "robot"`},
		{"a list is no object", `[1]`, 0, "", "not a JSON object"},
		{"an unknown shape is told what is taken", `{"stars":5}`, 0, "", "no shape that is known here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := decode([]byte(c.body))
			if err == nil {
				require.Len(t, events, 1)
				err = events[0].check()
			}
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, events[0].Rating)
			require.Equal(t, c.source, events[0].Source)
		})
	}
}

// Payloads as the tools' clients send them, written for these tests after langfuse/langfuse
// (fern/apis/server/definition, score-v1.yml and ingestion.yml), langchain-ai/langsmith-sdk
// (python/langsmith/schemas.py, FeedbackCreate) and Arize-ai/phoenix (schemas/openapi.json, *AnnotationData).
const (
	langfuse = `{"id":"score-1","timestamp":"2026-01-05T10:00:00Z","projectId":"p","environment":"production","name":"helpfulness","value":0.75,
		"source":"ANNOTATION","authorUserId":"ann","comment":"fine","metadata":{"retrieval":"RID","response":"Disney","scale":"0-1"},"configId":null,"queueId":null,
		"createdAt":"2026-01-05T10:00:00Z","updatedAt":"2026-01-05T10:00:01Z","dataType":"NUMERIC","stringValue":null,"traceId":"0af7651916cd43dd8448eb211c80319c","observationId":null}`
	langfuseCreate  = `{"name":"novelty","value":0.5,"traceId":"RID","environment":"production"}`
	langfuseSession = `{"id":"s3","sessionId":"chat-7","name":"helpful","value":0,"dataType":"BOOLEAN","configId":"c1","metadata":{"retrieval":"RID","model":{"name":"m"}}}`
	langfuseNote    = `{"id":"s4","traceId":"RID","name":"q","value":1,"metadata":"free text"}`
	langfuseBatch   = `{"batch":[{"id":"e1","type":"trace-create","timestamp":"2026-01-05T10:00:00.000Z","body":{"id":"t1","name":"chat"}},
		{"id":"e2","type":"score-create","timestamp":"2026-01-05T10:00:01.000Z","body":{"id":"s5","traceId":"RID","name":"quality","value":1,"dataType":"NUMERIC","comment":"yes"}}],
		"metadata":{"batch_size":2,"sdk_name":"python","public_key":"pk"}}`
	langfusePage = `{"data":[{"id":"s6","projectId":"p","name":"ok","source":"ANNOTATION","timestamp":"2026-01-05T10:00:00.000Z","environment":"default",
		"createdAt":"2026-01-05T10:00:00.000Z","updatedAt":"2026-01-05T10:00:01.000Z","dataType":"BOOLEAN","value":true,"metadata":{"retrieval":"RID"}},
		{"id":"s7","projectId":"p","name":"stars","source":"API","timestamp":"2026-01-05T10:00:00.000Z","environment":"default",
		"createdAt":"2026-01-05T10:00:00.000Z","updatedAt":"2026-01-05T10:00:01.000Z","dataType":"NUMERIC","value":2,"metadata":{"retrieval":"RID","scale":"1-5"}}],
		"meta":{"limit":50}}`
	langfuseCategory = `{"id":"s8","traceId":"t","name":"quality","value":4,"stringValue":"good","dataType":"CATEGORICAL","configId":"c2","metadata":{"retrieval":"RID","scale":"1-5"}}`
	langsmithList    = `[{"id":"1","created_at":"2026-01-05T10:00:00","modified_at":"2026-01-05T10:00:00","run_id":"a1","trace_id":"a1","key":"stars","score":7.5,"value":null,"comment":null,"correction":null,
		"feedback_source":{"type":"app","metadata":{"retrieval":"RID"},"user_id":null,"user_name":null},"feedback_config":{"type":"continuous","min":0,"max":10,"categories":null},"extra":null},
		{"id":"2","modified_at":"2026-01-05T10:00:00","run_id":"a1","trace_id":"a1","key":"thumb","score":false,"feedback_source":{"type":"app","metadata":null,"user_id":"9b2e","user_name":"Ben"},"extra":{"retrieval":"RID","response":"Disney"}}]`
	langfuseEval = `{"id":"score-2","traceId":"RID","name":"correct","value":1,"source":"EVAL","dataType":"BOOLEAN","comment":null,"metadata":{}}`
	langsmith    = `{"id":"f47ac10b","created_at":"2026-01-05T10:00:00Z","modified_at":"2026-01-05T10:00:00Z","run_id":"a1b2","trace_id":"a1b2","key":"user_score","score":0,
		"value":null,"comment":"wrong","correction":null,"feedback_source":{"type":"api","metadata":{"retrieval":"RID"},"user_id":null}}`
	langsmithCreate = `{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","created_at":"2026-01-05T10:00:00+00:00","modified_at":"2026-01-05T10:00:00+00:00",
		"run_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","trace_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","key":"correctness","score":0.5,"value":"half",
		"feedback_source":{"type":"model","metadata":{"__run":{"run_id":"a3bb189e-8bf9-3888-9912-ace4e6543002"},"retrieval":"RID"}},"error":false}`
	langsmithExtra = `{"id":"5","run_id":null,"trace_id":"t","session_id":"p","key":"thumb","score":1,"feedback_source":null,"extra":{"retrieval":"RID","response":"Disney"}}`
	langsmithModel = `{"id":"f47ac10c","run_id":"a1b2","key":"correctness","score":true,"feedback_source":{"type":"model","metadata":{}},"extra":{"retrieval":"RID","answer":["Disney"]}}`
	phoenixSession = `{"data":[{"session_id":"chat-7","name":"satisfied","annotator_kind":"HUMAN","result":{"label":"yes","score":1,"explanation":null},"metadata":{"retrieval":"RID"},"identifier":""},
		{"span_id":"RID","name":"qa","annotator_kind":"LLM","result":{"score":0,"label":"incorrect","explanation":"other owner"},"metadata":null,"identifier":"judge-1"}]}`
	phoenixRead = `{"data":[{"id":"U3Bhbg==","created_at":"2026-01-05T10:00:00Z","updated_at":"2026-01-05T10:00:02Z","source":"APP","user_id":"VXNlcjox","span_id":"RID","name":"note",
		"annotator_kind":"HUMAN","result":{"label":"thumbs-up","score":null,"explanation":null},"metadata":{},"identifier":""}],"next_cursor":null}`
	phoenix = `{"data":[
		{"span_id":"67f6740bbe1ddc3f","name":"correctness","annotator_kind":"HUMAN","result":{"label":"thumbs-down","score":null,"explanation":"no"},"metadata":{"retrieval":"RID"},"identifier":"ann"},
		{"span_id":"67f6740bbe1ddc3f","name":"qa","annotator_kind":"LLM","result":{"label":"correct","score":0.25},"metadata":{"retrieval":"RID"}},
		{"trace_id":"RID","name":"f1","annotator_kind":"CODE","result":{"label":"correct"}}]}`
)

func TestOtherToolsAreUnderstoodAsTheySend(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []Event
	}{
		{"a Langfuse annotation", langfuse, []Event{{ID: "langfuse:score-1:2026-01-05T10:00:01Z", Retrieval: "RID", Rating: 4, Rater: "ann", Source: Human, Response: "Disney", Comment: "fine"}}},
		{"a Langfuse evaluation of a trace that is named after the retrieval", langfuseEval, []Event{{ID: "langfuse:score-2", Retrieval: "RID", Rating: 5, Rater: "correct", Source: LLM}}},
		{"a Langfuse score as it is created", langfuseCreate, []Event{{Retrieval: "RID", Rating: 3, Rater: "novelty", Source: Human}}},
		{"a Langfuse score of a session", langfuseSession, []Event{{ID: "langfuse:s3", Retrieval: "RID", Rating: 1, Rater: "helpful", Source: Human}}},
		{"a Langfuse score with metadata of another kind", langfuseNote, []Event{{ID: "langfuse:s4", Retrieval: "RID", Rating: 5, Rater: "q", Source: Human}}},
		{"the events that a Langfuse client sends", langfuseBatch, []Event{{ID: "langfuse:e2", Retrieval: "RID", Rating: 5, Rater: "quality", Source: Human, Comment: "yes"}}},
		{"a LangSmith feedback as its client creates it", langsmithCreate, []Event{{ID: "langsmith:0f8fad5b-d9cb-469f-a165-70867728950e:2026-01-05T10:00:00+00:00", Retrieval: "RID", Rating: 3, Rater: "correctness", Source: LLM}}},
		{"a LangSmith feedback of a trace, with extra", langsmithExtra, []Event{{ID: "langsmith:5", Retrieval: "RID", Rating: 5, Rater: "thumb", Source: Human, Response: "Disney"}}},
		{"Phoenix annotations of a session and of a span", phoenixSession, []Event{
			{Retrieval: "RID", Rating: 5, Rater: "satisfied", Source: Human},
			{Retrieval: "RID", Rating: 1, Rater: "judge-1", Source: LLM, Comment: "other owner"},
		}},
		{"Phoenix annotations as they are read back", phoenixRead, []Event{{ID: "phoenix:U3Bhbg==:2026-01-05T10:00:02Z", Retrieval: "RID", Rating: 5, Rater: "VXNlcjox", Source: Human}}},
		{"a page of Langfuse scores as the API's version 3 reads them back", langfusePage, []Event{
			{ID: "langfuse:s6:2026-01-05T10:00:01.000Z", Retrieval: "RID", Rating: 5, Rater: "ok", Source: Human},
			{ID: "langfuse:s7:2026-01-05T10:00:01.000Z", Retrieval: "RID", Rating: 2, Rater: "stars", Source: Human},
		}},
		{"a Langfuse category with its number", langfuseCategory, []Event{{ID: "langfuse:s8", Retrieval: "RID", Rating: 4, Rater: "quality", Source: Human}}},
		{"LangSmith feedback as it is listed", langsmithList, []Event{
			{ID: "langsmith:1:2026-01-05T10:00:00", Retrieval: "RID", Rating: 4, Rater: "stars", Source: Human},
			{ID: "langsmith:2:2026-01-05T10:00:00", Retrieval: "RID", Rating: 1, Rater: "9b2e", Source: Human, Response: "Disney"},
		}},
		{"a list of the project's own shape", `[{"retrieval":"RID","score":5,"id":"a"},{"retrieval":"RID","thumb":"down","id":"b"}]`, []Event{
			{ID: "a", Retrieval: "RID", Rating: 5, Source: Human}, {ID: "b", Retrieval: "RID", Rating: 1, Source: Human},
		}},
		{"a LangSmith feedback", langsmith, []Event{{ID: "langsmith:f47ac10b:2026-01-05T10:00:00Z", Retrieval: "RID", Rating: 1, Rater: "user_score", Source: Human, Comment: "wrong"}}},
		{"a LangSmith evaluator", langsmithModel, []Event{{ID: "langsmith:f47ac10c", Retrieval: "RID", Rating: 5, Rater: "correctness", Source: LLM, Gold: []string{"Disney"}}}},
		{"Phoenix annotations", phoenix, []Event{
			{Retrieval: "RID", Rating: 1, Rater: "ann", Source: Human, Comment: "no"},
			{Retrieval: "RID", Rating: 2, Rater: "qa", Source: LLM},
			{Retrieval: "RID", Rating: 5, Rater: "f1", Source: GroundTruth},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decode([]byte(c.body))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	for name, c := range map[string]struct{ body, why string }{
		"a Langfuse category":                        {`{"id":"s","traceId":"r","name":"n","stringValue":"good","dataType":"CATEGORICAL"}`, "metadata.scale"},
		"a Langfuse category without its number":     {`{"id":"s","traceId":"r","name":"n","value":"good","dataType":"CATEGORICAL","metadata":{"scale":"1-5"}}`, "write a number"},
		"a Langfuse text":                            {`{"id":"s","traceId":"r","name":"n","value":"fine","dataType":"TEXT"}`, "NUMERIC or BOOLEAN"},
		"a Langfuse correction":                      {`{"id":"s","traceId":"r","name":"n","value":"other","dataType":"CORRECTION"}`, "NUMERIC or BOOLEAN"},
		"a Langfuse number beyond its scale":         {`{"id":"s","traceId":"r","name":"n","value":4,"dataType":"NUMERIC"}`, "not on the scale 0-1"},
		"a Langfuse number below its scale":          {`{"id":"s","traceId":"r","name":"n","value":-0.5}`, "not on the scale 0-1"},
		"a Langfuse boolean that is none":            {`{"id":"s","traceId":"r","name":"n","value":2,"dataType":"BOOLEAN"}`, "scale boolean"},
		"a Langfuse boolean without a value":         {`{"id":"s","traceId":"r","name":"n","value":null,"dataType":"BOOLEAN"}`, "value is missing"},
		"a Langfuse score without a value":           {`{"id":"s","traceId":"r","name":"n","dataType":"NUMERIC"}`, "value is missing"},
		"a Langfuse category without a type":         {`{"name":"toxicity","value":"not toxic","traceId":"r"}`, "write a number"},
		"Langfuse events without a score":            {`{"batch":[{"id":"e1","type":"trace-create","body":{}}]}`, "score-create"},
		"a page of Langfuse scores with a wrong one": {`{"data":[{"id":"s","traceId":"r","name":"n","value":1,"dataType":"NUMERIC"},{"id":"s","traceId":"r","name":"n","value":-1,"dataType":"NUMERIC"}],"meta":{"page":1}}`, "data[1]: the value -1"},
		"a Phoenix note":                             {`{"data":{"span_id":"r","note":"hm"}}`, "not a list"},
		"a Phoenix annotation without a result":      {`{"data":[{"span_id":"r","name":"n","annotator_kind":"HUMAN"}]}`, "neither a score nor a label"},
		"a Phoenix annotation of a document":         {`{"data":[{"span_id":"r","document_position":0,"name":"relevance","annotator_kind":"LLM","result":{"label":"relevant","score":1}}]}`, "about one document"},
		"a Phoenix score below its scale":            {`{"data":[{"span_id":"r","name":"n","annotator_kind":"LLM","result":{"score":-1}}]}`, "not on the scale 0-1"},
		"a Phoenix score beyond its scale":           {`{"data":[{"trace_id":"r","name":"n","annotator_kind":"HUMAN","result":{"label":"good","score":5}}]}`, "not on the scale 0-1"},
		"a Phoenix label that is unknown":            {`{"data":[{"span_id":"r","name":"n","annotator_kind":"HUMAN","result":{"label":"meh"}}]}`, "thumbs-up"},
		"a LangSmith note without a score":           {`{"id":"s","run_id":"r","key":"note","score":null}`, "no score"},
		"a LangSmith category":                       {`{"id":"s","run_id":"r","key":"tone","score":null,"value":"polite","feedback_source":{"type":"api"},"feedback_config":{"type":"categorical"}}`, "no score"},
		"a LangSmith score below its scale":          {`{"id":"s","run_id":"r","key":"k","score":-0.1}`, "not on the scale 0-1"},
		"a LangSmith score beyond its config":        {`{"id":"s","run_id":"r","key":"stars","score":11,"feedback_config":{"type":"continuous","min":0,"max":10}}`, "feedback_config, 0 and 10"},
		"a LangSmith config without a span":          {`{"id":"s","run_id":"r","key":"stars","score":1,"feedback_config":{"type":"continuous","min":1,"max":1}}`, "feedback_config"},
		"a list with a wrong one":                    {`[{"retrieval":"r","score":5},{"retrieval":"r","score":6}]`, "[1]: "},
		"a list of lists":                            {`[[]]`, "not a JSON object"},
	} {
		t.Run(name+" is refused with the reason", func(t *testing.T) {
			_, err := decode([]byte(c.body))
			require.ErrorContains(t, err, c.why)
		})
	}
}

func TestCloudEventsInTheirThreeModes(t *testing.T) {
	const data = `{"retrieval":"r","score":2}`
	event := `{"specversion":"1.0","id":"7","source":"/app","type":"rating","data":` + data + `}`
	header := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	for _, c := range []struct {
		name   string
		header http.Header
		body   string
		ids    []string
		err    string
	}{
		{"structured", header("Content-Type", "application/cloudevents+json; charset=utf-8"), event, []string{"cloudevent:/app 7"}, ""},
		{"binary", header("Content-Type", "application/json", "ce-specversion", "1.0", "ce-id", "7", "ce-source", "/app", "ce-type", "rating"), data, []string{"cloudevent:/app 7"}, ""},
		{"binary, signed: only the webhook's id is", header("Content-Type", "application/json", "ce-specversion", "1.0", "ce-id", "7", "ce-source", "/app", "ce-type", "rating", "webhook-id", "msg_1"), data, []string{"webhook:msg_1"}, ""},
		{"batched", header("Content-Type", "application/cloudevents-batch+json"), "[" + event + "," + event + "]", []string{"cloudevent:/app 7", "cloudevent:/app 7"}, ""},
		{"base64", header("Content-Type", "application/cloudevents+json"), `{"specversion":"1.0","id":"7","source":"/app","type":"rating","data_base64":"eyJyZXRyaWV2YWwiOiJyIiwic2NvcmUiOjJ9"}`, []string{"cloudevent:/app 7"}, ""},
		{"an empty batch", header("Content-Type", "application/cloudevents-batch+json"), "[]", nil, ""},
		{"several ratings in one event", header("Content-Type", "application/cloudevents+json"), `{"specversion":"1.0","id":"7","source":"/app","type":"x","data":` + phoenix + `}`, []string{"cloudevent:/app 7#0", "cloudevent:/app 7#1", "cloudevent:/app 7#2"}, ""},
		{"plain JSON keeps its id", header("Content-Type", "application/json"), `{"retrieval":"r","score":2,"id":"mine"}`, []string{"mine"}, ""},
		{"a webhook's id goes before it", header("Content-Type", "application/json", "webhook-id", "msg_1"), `{"retrieval":"r","score":2,"id":"mine"}`, []string{"webhook:msg_1"}, ""},

		{"another version", header("Content-Type", "application/cloudevents+json"), `{"specversion":"0.3","id":"7","source":"/app","type":"x","data":` + data + `}`, nil, `specversion is "0.3"`},
		{"no source", header("Content-Type", "application/cloudevents+json"), `{"specversion":"1.0","id":"7","type":"x","data":` + data + `}`, nil, "id, source and type"},
		{"no data", header("Content-Type", "application/cloudevents+json"), `{"specversion":"1.0","id":"7","source":"s","type":"x"}`, nil, "no data"},
		{"data that is no JSON", header("Content-Type", "application/cloudevents+json"), `{"specversion":"1.0","id":"7","source":"s","type":"x","datacontenttype":"text/xml","data":"<a/>"}`, nil, "datacontenttype"},
		{"a form", header("Content-Type", "application/x-www-form-urlencoded"), "a=b", nil, "send application/json"},
		{"no type", header(), data, nil, "send application/json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := read(c.header, []byte(c.body))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			var ids []string
			for _, e := range events {
				ids = append(ids, e.ID)
			}
			require.Equal(t, c.ids, ids)
		})
	}
}

func TestDecodeNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"null", "1", "-1", "true", `"x"`, "{}", "[]", `{"retrieval":1}`, "1e309"})
		keys := rapid.SampledFrom([]string{"retrieval", "score", "thumb", "value", "scale", "traceId", "dataType", "metadata", "run_id", "feedback_source", "data", "span_id", "result", "answer"})
		m := map[string]json.RawMessage{}
		for range rapid.IntRange(0, 6).Draw(t, "keys") {
			m[keys.Draw(t, "key")] = json.RawMessage(value.Draw(t, "value"))
		}
		body, err := json.Marshal(m)
		require.NoError(t, err)
		events, err := decode(body)
		for _, e := range events {
			if err == nil && e.check() == nil && e.Rating != 0 {
				require.True(t, e.Rating >= 1 && e.Rating <= 5)
			}
		}
	})
}

func TestSignatures(t *testing.T) {
	secret := func(text string) Secret {
		s, err := ParseSecret(text)
		require.NoError(t, err)
		return s
	}
	old, today := secret("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="), secret("whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=")
	now := time.Unix(1_700_000_000, 0)
	body := []byte(`{"a":1}`)
	both := today.Sign("msg", now, body)
	both.Set("webhook-signature", "v1a,xx v1,AAAA "+old.Sign("msg", now, body).Get("webhook-signature"))
	changed := func(key, value string) http.Header {
		h := today.Sign("msg", now, body)
		h.Set(key, value)
		return h
	}
	bearer := func(text string) http.Header { return http.Header{"Authorization": {"Bearer " + text}} }
	for _, c := range []struct {
		name    string
		header  http.Header
		secrets []Secret
		err     string
	}{
		{"a signature by the secret", today.Sign("msg", now, body), []Secret{today}, ""},
		{"by an old secret that still counts", old.Sign("msg", now, body), []Secret{today, old}, ""},
		{"one of several signatures", both, []Secret{old}, ""},
		{"a clock that is ahead", today.Sign("msg", now.Add(time.Hour), body), []Secret{today}, ""},
		{"the secret itself", bearer(today.text), []Secret{old, today}, ""},
		{"a signature that is too old", today.Sign("msg", now.Add(-6*time.Minute), body), []Secret{today}, "6m0s old"},
		{"by another secret", old.Sign("msg", now, body), []Secret{today}, "no signature"},
		{"over another body", today.Sign("msg", now, []byte("{}")), []Secret{today}, "no signature"},
		{"over another id", changed("webhook-id", "other"), []Secret{today}, "no signature"},
		{"over another time", changed("webhook-timestamp", "1700000001"), []Secret{today}, "no signature"},
		{"a time that is none", changed("webhook-timestamp", "today"), []Secret{today}, "seconds since 1970"},
		{"not signed at all", http.Header{}, []Secret{today}, "not signed"},
		{"the wrong secret itself", bearer("x"), []Secret{today}, "bearer secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := verify(c.header, body, c.secrets, now, 5*time.Minute)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
	// The example of the Standard Webhooks specification's libraries.
	spec := secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	h := spec.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", h.Get("webhook-signature"))
	for _, bad := range []string{"", "whsec_", "whsec_c2hvcnQ=", "!"} {
		_, err := ParseSecret(bad)
		require.ErrorContains(t, err, "whsec_")
	}
}
