package dgraph

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// The values of Target.SSLMode, as Dgraph's connection strings name them.
const (
	SSLDisable  = "disable"   // plain text, the default
	SSLRequire  = "require"   // encrypted, the certificate is not checked
	SSLVerifyCA = "verify-ca" // encrypted, the certificate is checked against the system's authorities
)

const defaultPort = "9080"

// Target is where and as whom to reach a cluster.
type Target struct {
	Addr        string // host:port of an alpha's gRPC
	SSLMode     string
	User        string
	Password    string
	Namespace   uint64
	APIKey      string
	BearerToken string
}

// ErrSecretInTarget is returned by RefuseSecrets.
var ErrSecretInTarget = errors.New("the connection string holds a secret, which every user of this machine can read from the command line; give it in the configuration file or the environment")

// ParseTarget reads "host", "host:port" or Dgraph's connection string
// "dgraph://user:password@host:port?sslmode=...&namespace=...&apikey=...&bearertoken=...".
// Without a port, 9080 is taken. Errors never repeat a password.
func ParseTarget(s string) (Target, error) {
	text := s
	if !strings.Contains(s, "://") {
		text = "dgraph://" + s
	}
	u, err := url.Parse(text)
	if err != nil {
		return Target{}, errors.New("the address of Dgraph is not readable; write it like dgraph://localhost:9080")
	}
	if u.Scheme != "dgraph" {
		return Target{}, fmt.Errorf("the address of Dgraph starts with %s://; write it like dgraph://localhost:9080 (its gRPC port)", u.Scheme)
	}
	if u.Hostname() == "" || (u.Path != "" && u.Path != "/") || u.Fragment != "" {
		return Target{}, errors.New("the address of Dgraph needs a host and nothing after the port but ?parameters; write it like dgraph://localhost:9080")
	}
	t := Target{Addr: net.JoinHostPort(u.Hostname(), u.Port()), SSLMode: SSLDisable, User: u.User.Username()}
	if u.Port() == "" {
		t.Addr = net.JoinHostPort(u.Hostname(), defaultPort)
	}
	t.Password, _ = u.User.Password()
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Target{}, errors.New("the parameters of Dgraph's address are not readable; write them like ?sslmode=disable&namespace=1")
	}
	for key, values := range query {
		if err := t.set(key, values[len(values)-1]); err != nil {
			return Target{}, err
		}
	}
	return t, t.check()
}

func (t *Target) set(key, value string) error {
	switch key {
	case "sslmode":
		if value != SSLDisable && value != SSLRequire && value != SSLVerifyCA {
			return fmt.Errorf("sslmode is %q; write disable, require or verify-ca", value)
		}
		t.SSLMode = value
	case "namespace":
		n, err := strconv.ParseUint(value, 0, 64)
		if err != nil {
			return fmt.Errorf("namespace is %q; write a number like 1", value)
		}
		t.Namespace = n
	case "apikey":
		t.APIKey = value
	case "bearertoken":
		t.BearerToken = value
	default:
		return fmt.Errorf("the address of Dgraph has no parameter %q; there are sslmode, namespace, apikey and bearertoken", key)
	}
	return nil
}

func (t Target) check() error {
	if t.APIKey != "" && t.BearerToken != "" {
		return errors.New("the address of Dgraph has both apikey and bearertoken; give one")
	}
	if (t.APIKey != "" || t.BearerToken != "") && t.SSLMode == SSLDisable {
		return errors.New("apikey and bearertoken are never sent unencrypted; add sslmode=verify-ca")
	}
	if t.Password != "" && t.User == "" {
		return errors.New("the address of Dgraph has a password but no user; write dgraph://user:password@host:9080")
	}
	return nil
}

// RefuseSecrets returns ErrSecretInTarget when the target carries a password, key or token:
// call it on what came from the command line.
func (t Target) RefuseSecrets() error {
	if t.Password != "" || t.APIKey != "" || t.BearerToken != "" {
		return ErrSecretInTarget
	}
	return nil
}

// String is the target for logs: without secrets.
func (t Target) String() string {
	s := "dgraph://"
	if t.User != "" {
		s += t.User + "@"
	}
	s += t.Addr
	if t.Namespace != 0 {
		s += fmt.Sprintf("?namespace=%d", t.Namespace)
	}
	return s
}

// TLS gives the configuration for SSLMode, nil for plain text.
func (t Target) TLS() *tls.Config {
	switch t.SSLMode {
	case SSLRequire:
		return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // what sslmode=require means
	case SSLVerifyCA:
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return nil
}
