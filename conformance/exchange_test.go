package conformance

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/dgraph-io/dgo/v250/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// request is one request over HTTP.
type request struct {
	method, path string // path with parameters
	header       http.Header
	body         string
}

func (r request) String() string {
	return fmt.Sprintf("%s %s %v\n%s", r.method, r.path, r.header, clip(r.body))
}

func post(path, contentType, body string, header ...string) request {
	r := request{"POST", path, http.Header{}, body}
	if contentType != "" {
		r.header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		r.header.Set(header[i], header[i+1])
	}
	return r
}

// transport leaves compression and connections as the requests ask for them.
var transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}

// send gives status, headers and body as one text in which only what must differ between two
// requests, timings, timestamps and the date, is made equal.
func (r request) send(s side) (string, error) {
	answer, err := r.raw(s)
	return equalised(answer), err
}

func (r request) raw(s side) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, "http://"+s.http+r.path, strings.NewReader(r.body))
	if err != nil {
		return "", err
	}
	req.Header = r.header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return "", err
		}
		if body, err = io.ReadAll(z); err != nil {
			return "", err
		}
	}
	resp.Header.Del("Date")
	resp.Header.Del("Content-Length") // the timings in the body are longer or shorter
	var b strings.Builder
	fmt.Fprintln(&b, resp.Status)
	for _, name := range sortedKeys(resp.Header) {
		fmt.Fprintf(&b, "%s: %q\n", name, resp.Header[name])
	}
	b.WriteByte('\n')
	b.Write(body)
	return b.String(), nil
}

// data is the "data" of a raw answer; nil where there is none.
func data(raw string) json.RawMessage {
	_, body, _ := strings.Cut(raw, "\n\n")
	var a struct{ Data json.RawMessage }
	if json.Unmarshal([]byte(body), &a) != nil {
		return nil
	}
	return a.Data
}

var differing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"(parsing_ns|processing_ns|encoding_ns|assign_timestamp_ns|total_ns)":\d+,?`), ``},
	{regexp.MustCompile(`"(start_ts|commit_ts|startTs|commitTs)":\d+`), `"$1":0`},
	{regexp.MustCompile(`"(hash)":"[0-9a-f]{64}"`), `"$1":""`},
	{regexp.MustCompile(`(StartTs|start_ts): [1-9]\d*`), `$1: 1`},
	{regexp.MustCompile(`"startTime":"[^"]*","endTime":"[^"]*","duration":\d+`), `"duration":0`},
	{regexp.MustCompile(`"startOffset":\d+,"duration":\d+`), `"duration":0`},
	{regexp.MustCompile(`(startTs=|entity:|value_id:)[1-9]\d+`), `${1}0`},
	{regexp.MustCompile(`"dg\.\d+\.\d+"`), `"dg"`}, // the engine's name for a node without one
}

func equalised(answer string) string {
	for _, d := range differing {
		answer = d.pattern.ReplaceAllString(answer, d.with)
	}
	return answer
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// call is one call over gRPC of a method of api.Dgraph, or of any other by its full name.
type call struct {
	method   string
	in       proto.Message
	out      proto.Message // an empty one of the answer's type
	metadata metadata.MD
}

func (c call) String() string { return fmt.Sprintf("%s %v\n%s", c.method, c.metadata, text(c.in)) }

func query(r *api.Request) call { return call{method: "Query", in: r, out: &api.Response{}} }

// send gives answer or status, headers and trailers as one text, equalised as request.send's.
func (c call) send(s side) (string, error) {
	out, answer, err := c.raw(s)
	if err != nil {
		return "", err
	}
	return c.tell(out, answer), nil
}

// tell spells an answer, with the data of a query as it came.
func (c call) tell(out proto.Message, answer string) string {
	switch m := out.(type) {
	case *api.Response:
		answer += string(m.Json) + "\n" + string(m.Rdf) + "\n"
		m.Json, m.Rdf, m.Latency = nil, nil, nil
		settle(m.Txn)
	case *api.TxnContext:
		settle(m)
	}
	return equalised(answer + text(out))
}

func settle(t *api.TxnContext) {
	if t == nil {
		return
	}
	if t.StartTs != 0 {
		t.StartTs = 1
	}
	if t.CommitTs != 0 {
		t.CommitTs = 1
	}
	if t.Hash != "" {
		t.Hash = "hash"
	}
}

// text spells a message; a proto.Message's own spelling is random on purpose.
func text(m proto.Message) string {
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(prototext.MarshalOptions{Multiline: true}.Format(m), ":  ", ": ")
}

func (c call) raw(s side) (out proto.Message, status string, err error) {
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(context.Background(), c.metadata.Copy()), time.Minute)
	defer cancel()
	method := c.method
	if !strings.HasPrefix(method, "/") {
		method = "/api.Dgraph/" + method
	}
	out = proto.Clone(c.out)
	var header, trailer metadata.MD
	err = s.conn.Invoke(ctx, method, c.in, out, grpc.Header(&header), grpc.Trailer(&trailer))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, "", ctx.Err()
	}
	return out, statusText(err) + metadataText("header", header) + metadataText("trailer", trailer), nil
}

func statusText(err error) string {
	s := status.Convert(err)
	return fmt.Sprintf("%s: %s %v\n", s.Code(), s.Message(), s.Details())
}

func metadataText(kind string, md metadata.MD) string {
	var b strings.Builder
	for _, k := range sortedKeys(md) {
		fmt.Fprintf(&b, "%s %s: %q\n", kind, k, md[k])
	}
	return b.String()
}
