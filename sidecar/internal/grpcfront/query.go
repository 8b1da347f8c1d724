package grpcfront

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strconv"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/evorag/dgraph-evorag/plugin/dql"
	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// query receives the one message of a Query or RunDQL call and forwards it unread, unless
// its text carries the directive.
func (f *Front) query(method string, s grpc.ServerStream) error {
	m := &message{}
	if err := s.RecvMsg(m); err != nil {
		if errors.Is(err, io.EOF) {
			return f.forward(method, s, nil, nil) // a call without a message: the alpha judges
		}
		return err
	}
	field := fieldQuery
	if method == methodRunDQL {
		field = fieldText
	}
	text, err := textField(m.data, field)
	if err == nil && dql.Mentions(text) {
		return f.ranked(method, s, m)
	}
	return f.plain(method, s, m, stripped(text))
}

// plain forwards a request without the directive.
func (f *Front) plain(method string, s grpc.ServerStream, m *message, answer func(*message) (*message, error)) error {
	if f.Keeper != nil && (method == methodRunDQL || hasMutations(m.data)) {
		return f.mutation(method, s, m, answer)
	}
	return f.forward(method, s, m, answer)
}

// ranked answers a request with the directive.
func (f *Front) ranked(method string, s grpc.ServerStream, m *message) error {
	b := m.data.Materialize()
	m.free()
	req, err := read(method, b)
	if err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(s.Context())
	upsert := len(req.Mutations) > 0 || method == methodRunDQL && dql.FormOf(req.Query) == dql.FormUpsert
	got, err := f.Ranker.Query(s.Context(), proxy.Request{
		Call: graph.Call{
			Query: req.Query, Vars: req.Vars,
			StartTS: req.StartTs, Hash: req.Hash,
			ReadOnly: req.ReadOnly, BestEffort: req.BestEffort,
			Debug: isTrue(md.Get("debug")), Credentials: credentials(md),
		},
		Upsert: upsert,
		RDF:    req.RespFormat == api.Request_RDF,
	})
	if err != nil {
		return asStatus(err)
	}
	hdrs, h, err := told(md, got.Retrieval)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if err := s.SetHeader(h); err != nil {
		return err
	}
	if upsert {
		return f.upsert(method, s, b, got, hdrs)
	}
	if method == methodRunDQL {
		s = asRunDQL{s}
	}
	return answer(s, got, hdrs)
}

// read decodes a request of either method.
func read(method string, b []byte) (*api.Request, error) {
	var err error
	if method == methodRunDQL {
		if b, err = renumber(b, runDQL); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "the request is not a RunDQLRequest: %v", err)
		}
	}
	req := &api.Request{}
	if err := req.Unmarshal(b); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the request is not an api.Request: %v", err)
	}
	return req, nil
}

// told is the retrieval as a caller finds it: in the answer's hdrs and, for some, in the header.
func told(caller metadata.MD, r *graph.Retrieval) (hdrs map[string]*api.ListOfString, h metadata.MD, err error) {
	if r == nil {
		return nil, nil, nil
	}
	b, err := r.AppendJSON(make([]byte, 0, usualBytes))
	if err != nil {
		return nil, nil, err
	}
	text := string(b)
	h, err = header(caller, r, text)
	return map[string]*api.ListOfString{headerKey: {Value: []string{text}}}, h, err
}

// answer sends the finished response.
func answer(s grpc.ServerStream, a *proxy.Response, hdrs map[string]*api.ListOfString) error {
	r := response(a)
	r.Hdrs, r.Json = hdrs, nil
	rest, err := r.Marshal()
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	m := &message{data: mem.BufferSlice{mem.SliceBuffer(rest)}}
	if len(a.JSON) > 0 { // the first field, which is not copied
		length := protowire.AppendVarint(protowire.AppendTag(nil, fieldJSON, protowire.BytesType), uint64(len(a.JSON)))
		m.data = mem.BufferSlice{mem.SliceBuffer(length), mem.SliceBuffer(a.JSON), mem.SliceBuffer(rest)}
	}
	if err := s.SetHeader(metadata.Pairs(costHeader, strconv.FormatUint(a.NumUIDs["_total"], 10))); err != nil {
		return err
	}
	return s.SendMsg(m)
}

func response(a *proxy.Response) *api.Response {
	return &api.Response{
		Json: a.JSON,
		Txn: &api.TxnContext{
			StartTs: a.Txn.StartTS, CommitTs: a.Txn.CommitTS, Aborted: a.Txn.Aborted,
			Keys: a.Txn.Keys, Preds: a.Txn.Preds, Hash: a.Txn.Hash,
		},
		Latency: &api.Latency{
			ParsingNs:         uint64(a.Latency.Parsing),
			ProcessingNs:      uint64(a.Latency.Processing),
			EncodingNs:        uint64(a.Latency.Encoding),
			AssignTimestampNs: uint64(a.Latency.AssignTimestamp),
			TotalNs:           uint64(a.Latency.Total),
		},
		Metrics: &api.Metrics{NumUids: a.NumUIDs},
	}
}

// credentials are the keys by which the alpha knows a caller (edgraph, x.ExtractJwt).
func credentials(md metadata.MD) graph.Credentials {
	c := graph.Credentials{}
	for _, key := range []string{"accessjwt", "auth-token", "authorization"} {
		if v := md.Get(key); len(v) > 0 {
			c[key] = v
		}
	}
	return c
}

// asStatus gives a fault in the text InvalidArgument; statuses of the engine stay.
func asStatus(err error) error {
	var at *dql.Error
	switch {
	case errors.As(err, &at):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	}
	return err
}

// textField reads the string in one field of a protobuf message, the last one where there
// are several, without decoding or copying the rest. A message that doesn't parse is an error.
func textField(data mem.BufferSlice, field protowire.Number) (text string, err error) {
	r := data.Reader()
	defer r.Close()
	for {
		tag, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return "", err
		}
		num, typ := protowire.DecodeTag(tag)
		size := 0
		switch typ {
		case protowire.VarintType:
			_, err = binary.ReadUvarint(r)
		case protowire.Fixed32Type:
			size = 4
		case protowire.Fixed64Type:
			size = 8
		case protowire.BytesType:
			var n uint64
			if n, err = binary.ReadUvarint(r); err == nil && n > uint64(r.Remaining()) {
				err = io.ErrUnexpectedEOF
			}
			size = int(n)
		default:
			err = errors.New("groups are not used by Dgraph")
		}
		if err != nil {
			return "", err
		}
		if num == field && typ == protowire.BytesType {
			b := make([]byte, size)
			if _, err := io.ReadFull(r, b); err != nil {
				return "", err
			}
			text = string(b)
			continue
		}
		if _, err := r.Discard(size); err != nil {
			return "", err
		}
	}
}
