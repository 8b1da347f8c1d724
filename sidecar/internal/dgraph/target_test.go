package dgraph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
)

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]dgraph.Target{
		"localhost":                {Addr: "localhost:9080", SSLMode: dgraph.SSLDisable},
		"localhost:19080":          {Addr: "localhost:19080", SSLMode: dgraph.SSLDisable},
		"[::1]:9080":               {Addr: "[::1]:9080", SSLMode: dgraph.SSLDisable},
		"dgraph://db.example:9080": {Addr: "db.example:9080", SSLMode: dgraph.SSLDisable},
		"dgraph://db.example/":     {Addr: "db.example:9080", SSLMode: dgraph.SSLDisable},
		"dgraph://groot:p%40ss@db:1?sslmode=verify-ca&namespace=0x2": {
			Addr: "db:1", SSLMode: dgraph.SSLVerifyCA, User: "groot", Password: "p@ss", Namespace: 2,
		},
		"dgraph://db?sslmode=require&apikey=k":      {Addr: "db:9080", SSLMode: dgraph.SSLRequire, APIKey: "k"},
		"dgraph://db?sslmode=require&bearertoken=k": {Addr: "db:9080", SSLMode: dgraph.SSLRequire, BearerToken: "k"},
	} {
		got, err := dgraph.ParseTarget(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseTargetRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"http://localhost:8080":      "starts with http://",
		"":                           "needs a host",
		"dgraph://":                  "needs a host",
		"dgraph://db:9080/path":      "needs a host and nothing after",
		"dgraph://db:port":           "not readable",
		"dgraph://db?sslmode=prefer": "disable, require or verify-ca",
		"dgraph://db?namespace=one":  "a number",
		"dgraph://db?tls=1":          `no parameter "tls"`,
		"dgraph://db?apikey=k":       "never sent unencrypted",
		"dgraph://db?sslmode=require&apikey=k&bearertoken=secret": "both",
		"dgraph://:secret@db": "no user",
	} {
		_, err := dgraph.ParseTarget(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestSecretsStayOutOfLogsAndCommandLines(t *testing.T) {
	target, err := dgraph.ParseTarget("dgraph://groot:secret@db:1?namespace=3")
	require.NoError(t, err)
	require.Equal(t, "dgraph://groot@db:1?namespace=3", target.String())
	require.ErrorIs(t, target.RefuseSecrets(), dgraph.ErrSecretInTarget)
	target.Password = ""
	require.NoError(t, target.RefuseSecrets())
}
