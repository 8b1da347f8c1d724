package dgraph

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// session is the engine as the sidecar itself: it logs in when a user is configured, and
// again when its token has expired.
type session struct {
	api.DgraphClient
	target Target

	mu  sync.Mutex
	jwt api.Jwt
}

// Query runs as the sidecar.
func (s *session) Query(ctx context.Context, req *api.Request, opts ...grpc.CallOption) (*api.Response, error) {
	return authenticated(ctx, s, func(ctx context.Context) (*api.Response, error) { return s.DgraphClient.Query(ctx, req, opts...) })
}

// Alter runs as the sidecar.
func (s *session) Alter(ctx context.Context, op *api.Operation, opts ...grpc.CallOption) (*api.Payload, error) {
	return authenticated(ctx, s, func(ctx context.Context) (*api.Payload, error) { return s.DgraphClient.Alter(ctx, op, opts...) })
}

// CommitOrAbort runs as the sidecar.
func (s *session) CommitOrAbort(ctx context.Context, txn *api.TxnContext, opts ...grpc.CallOption) (*api.TxnContext, error) {
	return authenticated(ctx, s, func(ctx context.Context) (*api.TxnContext, error) {
		return s.DgraphClient.CommitOrAbort(ctx, txn, opts...)
	})
}

// authenticated sends the call with the session's token and, when the engine says that it
// has expired, once more with a new one.
func authenticated[T any](ctx context.Context, s *session, send func(context.Context) (T, error)) (T, error) {
	var none T
	token, err := s.token(ctx, "")
	if err != nil {
		return none, err
	}
	out, err := send(s.context(ctx, token))
	if token == "" || !expired(err) {
		return out, err
	}
	if token, err = s.token(ctx, token); err != nil {
		return none, err
	}
	return send(s.context(ctx, token))
}

func (s *session) context(ctx context.Context, token string) context.Context {
	md := metadata.MD{}
	if token != "" {
		md.Set("accessjwt", token)
	}
	s.cloudKeys(md)
	return metadata.NewOutgoingContext(ctx, md)
}

func (s *session) cloudKeys(md metadata.MD) {
	switch {
	case s.target.APIKey != "":
		md.Set("authorization", s.target.APIKey)
	case s.target.BearerToken != "":
		md.Set("authorization", "Bearer "+s.target.BearerToken)
	}
}

// token is the access token, "" where no user is configured. A token equal to stale is
// renewed: by the refresh token while that is good, else by the password.
func (s *session) token(ctx context.Context, stale string) (string, error) {
	if s.target.User == "" {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jwt.AccessJwt != "" && s.jwt.AccessJwt != stale {
		return s.jwt.AccessJwt, nil
	}
	if s.jwt.RefreshJwt != "" {
		if err := s.login(ctx, &api.LoginRequest{RefreshToken: s.jwt.RefreshJwt, Namespace: s.target.Namespace}); err == nil {
			return s.jwt.AccessJwt, nil
		}
	}
	err := s.login(ctx, &api.LoginRequest{Userid: s.target.User, Password: s.target.Password, Namespace: s.target.Namespace})
	if err != nil {
		return "", fmt.Errorf("logging in to Dgraph as %s in namespace %d: %w", s.target.User, s.target.Namespace, err)
	}
	return s.jwt.AccessJwt, nil
}

func (s *session) login(ctx context.Context, req *api.LoginRequest) error {
	resp, err := s.Login(s.context(ctx, ""), req)
	if err != nil {
		return err
	}
	var jwt api.Jwt
	if err := jwt.Unmarshal(resp.GetJson()); err != nil {
		return fmt.Errorf("the engine's login answer is not readable: %w", err)
	}
	s.jwt.AccessJwt, s.jwt.RefreshJwt = jwt.AccessJwt, jwt.RefreshJwt
	return nil
}

func expired(err error) bool {
	return err != nil && status.Code(err) == codes.Unauthenticated && strings.Contains(strings.ToLower(err.Error()), "expired")
}
