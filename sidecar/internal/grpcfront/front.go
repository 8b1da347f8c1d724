// Package grpcfront is Dgraph's gRPC surface in front of an alpha. A query that carries
// @evorag is answered by the proxy; every other message of every method, known or not, is
// forwarded as the bytes that came, with metadata, deadlines, trailers and statuses.
package grpcfront

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // callers may compress
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// MaxMessage is the largest message in bytes either way, the alpha's own limit.
const MaxMessage = math.MaxInt32

// window is how many bytes of a message a caller may send before they are asked for.
const window = 4 << 20

const (
	methodQuery  = "/api.Dgraph/Query"
	methodRunDQL = "/api.Dgraph/RunDQL"
	methodCommit = "/api.Dgraph/CommitOrAbort"
	methodAlter  = "/api.Dgraph/Alter"
	methodLogin  = "/api.Dgraph/Login"
)

// Ranker answers what the alpha can't.
type Ranker interface {
	// Query answers a text that carries the directive. Errors: *dql.Error with its place,
	// gRPC statuses of the engine as they came, or others.
	Query(ctx context.Context, r proxy.Request) (*proxy.Response, error)
}

// Options are what a Front needs; all but Keeper, Altered, Wrote, Log
// and Server are required.
type Options struct {
	Alpha         grpc.ClientConnInterface // to the alpha; must take messages of MaxMessage
	Ranker        Ranker
	Keeper        Keeper // nil: mutations are forwarded as they come
	Metrics       *telemetry.Metrics
	AdminNetworks []netip.Prefix // may call Alter and Login
	Altered       func()         // called after each Alter
	Wrote         func()         // called after each call that may have written, before the caller hears of it
	Log           *slog.Logger   // nil: nothing is logged
	Server        []grpc.ServerOption
}

// Front serves api.Dgraph and whatever else the alpha serves. Make one with New.
type Front struct {
	Options
	server *grpc.Server
}

// New makes the front of one alpha.
func New(o Options) *Front {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Altered == nil {
		o.Altered = func() {}
	}
	if o.Wrote == nil {
		o.Wrote = func() {}
	}
	f := &Front{Options: o}
	f.server = grpc.NewServer(append([]grpc.ServerOption{
		grpc.ForceServerCodecV2(raw{}),
		grpc.UnknownServiceHandler(f.serve),
		grpc.MaxRecvMsgSize(MaxMessage),
		grpc.MaxSendMsgSize(MaxMessage),
		grpc.MaxConcurrentStreams(1000), // the alpha's
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(2 * window),
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))), // their stacks have grown already
	}, o.Server...)...)
	return f
}

// Serve answers on l until Stop; it returns nil then.
func (f *Front) Serve(l net.Listener) error { return f.server.Serve(l) }

// Stop lets calls under way end, until ctx is done; then it cuts them off.
func (f *Front) Stop(ctx context.Context) {
	drained := make(chan struct{})
	go func() { f.server.GracefulStop(); close(drained) }()
	select {
	case <-drained:
	case <-ctx.Done():
		f.server.Stop()
		<-drained
	}
}

// serve is every call: ranked, refused or forwarded.
func (f *Front) serve(_ any, s grpc.ServerStream) error {
	began := time.Now()
	method, ok := grpc.MethodFromServerStream(s)
	if !ok {
		return status.Error(codes.Internal, "the call has no method")
	}
	err := f.route(method, s)
	f.Metrics.Request("grpc", label(method), status.Code(err).String(), time.Since(began))
	return err
}

func (f *Front) route(method string, s grpc.ServerStream) error {
	switch method {
	case methodAlter, methodLogin:
		if err := f.admit(s.Context(), method); err != nil {
			return err
		}
		if method == methodAlter {
			defer f.Altered()
		}
	case methodQuery, methodRunDQL:
		return f.query(method, s)
	case methodCommit:
		defer f.Wrote() // the status that ends the call is sent after this
	}
	return f.forward(method, s, nil, nil)
}

// admit lets AdminNetworks in: the alpha's own whitelist sees only our address. Callers
// without an IP address (a Unix socket) are on this machine and are let in.
func (f *Front) admit(ctx context.Context, method string) error {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return status.Error(codes.PermissionDenied, "unable to find source ip")
	}
	addr, err := netip.ParseAddrPort(p.Addr.String())
	if err != nil {
		if _, tcp := p.Addr.(*net.TCPAddr); !tcp {
			return nil
		}
		return status.Error(codes.PermissionDenied, "unable to find source ip")
	}
	ip := addr.Addr().Unmap().WithZone("")
	for _, n := range f.AdminNetworks {
		if n.Contains(ip) {
			return nil
		}
	}
	return status.Errorf(codes.PermissionDenied, "unauthorized ip address: %s; %s is open to access.admin_networks only", ip, method)
}

// forward copies messages both ways until the alpha ends the call; its status is ours.
// first, if not nil, was received from s already; answer, if not nil, changes what the alpha
// sends back.
func (f *Front) forward(method string, s grpc.ServerStream, first *message, answer func(*message) (*message, error)) error {
	ctx, cancel := context.WithCancel(outgoing(s.Context()))
	defer cancel()
	alpha, err := f.Alpha.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method,
		grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage))
	if err != nil {
		first.free()
		return err
	}
	go func() {
		if !up(s, alpha, first) {
			cancel()
		}
	}()
	err = down(alpha, s, answer)
	s.SetTrailer(own(alpha.Trailer()))
	if err != nil && ctx.Err() == nil && status.Code(err) == codes.Unavailable {
		f.Log.Warn("alpha doesn't answer", "method", method, "error", err)
	}
	return err
}

// up sends the caller's messages on. It is false where the caller broke off; where the
// alpha has ended the call, down learns why.
func up(from grpc.ServerStream, to grpc.ClientStream, m *message) bool {
	for {
		if m == nil {
			m = &message{}
			if err := from.RecvMsg(m); err != nil {
				return errors.Is(err, io.EOF) && to.CloseSend() == nil
			}
		}
		if err := to.SendMsg(m); err != nil {
			return errors.Is(err, io.EOF)
		}
		m = nil
	}
}

// down sends the alpha's header and messages back and returns the status that ended them.
// The header goes out before the first message is there: a caller may wait for it.
func down(from grpc.ClientStream, to grpc.ServerStream, answer func(*message) (*message, error)) error {
	if md, err := from.Header(); err == nil && len(md) > 0 {
		if err := to.SendHeader(own(md)); err != nil {
			return err
		}
	}
	for {
		m := &message{}
		if err := from.RecvMsg(m); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if answer != nil {
			var err error
			if m, err = answer(m); err != nil {
				return err
			}
		}
		if err := to.SendMsg(m); err != nil {
			return err
		}
	}
}

// outgoing turns the caller's metadata into ours.
func outgoing(ctx context.Context) context.Context {
	in, _ := metadata.FromIncomingContext(ctx)
	return metadata.NewOutgoingContext(ctx, own(in.Copy()))
}

// own takes out of md what each hop sets anew.
func own(md metadata.MD) metadata.MD {
	for _, key := range []string{
		":authority", "content-type", "user-agent", "te", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding",
		"grpc-message-type", "grpc-status", "grpc-message", "grpc-status-details-bin",
	} {
		delete(md, key)
	}
	return md
}

// label keeps metrics few: methods of api.Dgraph by name, all others as one.
func label(method string) string {
	switch strings.TrimPrefix(method, "/api.Dgraph/") {
	case "Query", "RunDQL", "Alter", "Login", "CommitOrAbort", "CheckVersion":
		return method
	}
	return "other"
}

func isTrue(values []string) bool {
	if len(values) == 0 {
		return false
	}
	b, err := strconv.ParseBool(values[0])
	return err == nil && b
}
