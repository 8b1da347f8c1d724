package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/grpcfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/httpfront"
	"github.com/evorag/dgraph-evorag/sidecar/internal/migrate"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
	"github.com/evorag/dgraph-evorag/sidecar/internal/telemetry"
)

// stack remembers how to stop what was started, the last first.
type stack struct {
	stoppers []stopper
	guards   []*migrate.Guard // of the namespaces beside the sidecar's own
	log      *slog.Logger
	force    <-chan struct{} // closed: don't wait
}

type stopper struct {
	name   string
	within time.Duration
	stop   func(context.Context) error
}

func (s *stack) push(name string, within time.Duration, stop func(context.Context) error) {
	s.stoppers = append(s.stoppers, stopper{name, within, stop})
}

// unwind stops everything in reverse order. What takes longer than it may, or than the
// caller wants to wait, is cut off. It goes on after a failure and returns the first.
func (s *stack) unwind() (first error) {
	for _, one := range slices.Backward(s.stoppers) {
		ctx, cancel := context.WithTimeout(context.Background(), one.within)
		stopped := make(chan struct{})
		go func() {
			select {
			case <-s.force:
				cancel()
			case <-stopped:
			}
		}()
		err := one.stop(ctx)
		close(stopped)
		cancel()
		if err != nil {
			s.log.Warn("didn't stop cleanly", "what", one.name, "error", err)
			if first == nil {
				first = fmt.Errorf("stopping the %s: %w", one.name, err)
			}
		}
	}
	s.stoppers = nil
	return first
}

// listen takes a port, to be given back at the end; the error names the setting and what to do.
func (s *stack) listen(field, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s %s is in use; stop what holds it or choose another port (0 for any)", field, addr)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	s.push(field, drainTime, func(context.Context) error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) { // the server on it closes it first
			return err
		}
		return nil
	})
	return l, nil
}

// serveHTTP answers on l, encrypted where conf is not nil, and returns how to stop. A failure
// goes to failed.
func serveHTTP(l net.Listener, conf *tls.Config, h *httpfront.Front, log *slog.Logger, failed chan<- error) func(context.Context) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		TLSConfig:         conf.Clone(), // the server changes it
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	serve := server.Serve
	if conf != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	go func() {
		if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("HTTP on %s: %w", l.Addr(), err)
		}
	}()
	return func(ctx context.Context) error {
		if server.Shutdown(ctx) == nil {
			return nil
		}
		return server.Close() // out of time: cut off what is left
	}
}

func serveGRPC(l net.Listener, f *grpcfront.Front, failed chan<- error) func(context.Context) error {
	go func() {
		if err := f.Serve(l); err != nil {
			failed <- fmt.Errorf("gRPC on %s: %w", l.Addr(), err)
		}
	}()
	return func(ctx context.Context) error { f.Stop(ctx); return nil }
}

// background runs work until its ctx ends and returns how to end it and wait.
func background(work func(context.Context)) func(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); work(ctx) }()
	return func(within context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-within.Done():
			return within.Err()
		}
	}
}

// counted adds each ranked answer to the metrics.
type counted struct {
	*proxy.Proxy
	metrics *telemetry.Metrics
}

// Query is proxy.Query, counted.
func (c counted) Query(ctx context.Context, r proxy.Request) (*proxy.Response, error) {
	a, err := c.Proxy.Query(ctx, r)
	if err == nil && a.Retrieval != nil {
		c.metrics.Query(a.Retrieval.Timings.RoundTrips, a.Retrieval.Partial, a.Retrieval.Cache.Mode)
		c.metrics.Fallback(a.Retrieval.Relevance.Fallback)
	}
	return a, err
}

// Retrieve is proxy.Retrieve, counted.
func (c counted) Retrieve(ctx context.Context, r proxy.RetrieveRequest) (*graph.Retrieval, error) {
	got, err := c.Proxy.Retrieve(ctx, r)
	if err == nil {
		c.metrics.Query(got.Timings.RoundTrips, got.Partial, got.Cache.Mode)
		c.metrics.Fallback(got.Relevance.Fallback)
	}
	return got, err
}
