package check

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsAreMadeOnceAndFitTogether(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not on PATH")
	}
	dir := filepath.Join(t.TempDir(), "secrets")
	read := func() map[string]string {
		out, err := exec.CommandContext(t.Context(), filepath.Join(root, "docker/secrets.sh"), dir, "graph.example.org").CombinedOutput()
		require.NoError(t, err, string(out))
		files := map[string]string{}
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			info, err := e.Info()
			require.NoError(t, err)
			require.Zero(t, info.Mode().Perm()&0o077, "%s can be read by others", e.Name())
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			files[e.Name()] = string(b)
		}
		return files
	}
	files := read()
	require.Equal(t, files, read(), "what is there stays")
	for name, secret := range compose(t, "compose.production.yaml", "EVORAG_VERSION=v0.1.0").Secrets {
		require.NotEmpty(t, files[filepath.Base(secret.File)], "%s is made", name)
	}
	require.Len(t, files["acl.key"], 32, "as long as Dgraph wants it")
	authorities := x509.NewCertPool()
	require.True(t, authorities.AppendCertsFromPEM([]byte(files["ca.crt"])))
	for name, host := range map[string]string{"zero": "zero", "alpha": "alpha", "sidecar": "graph.example.org"} {
		pair, err := tls.X509KeyPair([]byte(files[name+".crt"]), []byte(files[name+".key"]))
		require.NoError(t, err, name)
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: authorities, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}})
			require.NoError(t, err, name)
		}
	}
}
