package dgraph

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dgraph-io/dgo/v230/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// session is the engine as the sidecar itself: it logs in when a user is configured, and
// again before its token expires. Where the clocks differ too much for that, it does so when
// the engine says that the token has expired; but not every call says it (CommitOrAbort
// doesn't).
type session struct {
	api.DgraphClient
	target Target

	mu    sync.Mutex
	jwt   api.Jwt
	renew time.Time // when the token has a quarter of its life left; zero: not known
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

// Credentials are the sidecar's own, for calls in which it stands for a caller; empty without
// access control.
func (c *Client) Credentials(ctx context.Context) (graph.Credentials, error) {
	token, err := c.self.token(ctx, "")
	if err != nil || token == "" {
		return graph.Credentials{}, err
	}
	return graph.Credentials{"accessjwt": {token}}, nil
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

// token is the access token, "" where no user is configured. A token that is equal to stale,
// or about to expire, is renewed: by the refresh token while that is good, else by the password.
func (s *session) token(ctx context.Context, stale string) (string, error) {
	if s.target.User == "" {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	aging := !s.renew.IsZero() && time.Now().After(s.renew)
	if s.jwt.AccessJwt != "" && s.jwt.AccessJwt != stale && !aging {
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
	s.renew = renewal(jwt.AccessJwt, time.Now())
	return nil
}

// renewal is when three quarters of a fresh token's life are over; zero where the token
// doesn't say when it ends, or ends before now by our clock.
func renewal(token string, now time.Time) time.Time {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	b, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Exp float64 `json:"exp"` // seconds since 1970, RFC 7519
	}
	if json.Unmarshal(b, &claims) != nil {
		return time.Time{}
	}
	life := time.Unix(int64(claims.Exp), 0).Sub(now)
	if life <= 0 {
		return time.Time{}
	}
	return now.Add(life * 3 / 4)
}

func expired(err error) bool {
	return err != nil && status.Code(err) == codes.Unauthenticated && strings.Contains(strings.ToLower(err.Error()), "expired")
}
