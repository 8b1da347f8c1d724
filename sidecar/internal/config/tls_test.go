package config_test

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config/certtest"
)

func TestACertificateThatWasReplacedIsServedAtTheNextHandshake(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Issue("server")
	conf, err := config.ServerTLS{CertFile: cert, KeyFile: key}.Config()
	require.NoError(t, err)
	serial := func() string {
		pair, err := conf.GetCertificate(nil)
		require.NoError(t, err)
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		require.NoError(t, err)
		return leaf.SerialNumber.String()
	}
	first := serial()
	require.Equal(t, first, serial())

	ca.Issue("server")
	later := time.Now().Add(time.Second) // however coarse the file system's times are
	require.NoError(t, os.Chtimes(cert, later, later))
	second := serial()
	require.NotEqual(t, first, second)

	require.NoError(t, os.WriteFile(cert, []byte("half"), 0o600))
	require.Equal(t, second, serial(), "what can't be read leaves the old one in use")
	require.NoError(t, os.Remove(cert))
	require.Equal(t, second, serial())
}

func TestEncryptionThatCantWorkIsRefused(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Issue("server")
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"a certificate without a key", func(c *config.Config) { c.TLS.CertFile = cert }, `tls.key_file is ""; write the file with the key of tls.cert_file`},
		{"a key without a certificate", func(c *config.Config) { c.TLS.KeyFile = key }, `tls.cert_file is ""`},
		{"authorities without a certificate", func(c *config.Config) { c.TLS.ClientCAFile = ca.File }, `tls.cert_file is ""`},
		{"our own certificate without its key", func(c *config.Config) { c.DgraphTLS.CertFile = cert }, `dgraph_tls.cert_file is "` + cert + `"; write the certificate, and its key in dgraph_tls.key_file, or neither`},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := config.Default()
			c.change(&conf)
			require.ErrorContains(t, conf.Verify(), c.want)
		})
	}
	_, err := config.ServerTLS{CertFile: key, KeyFile: cert}.Config()
	require.ErrorContains(t, err, "tls.cert_file, tls.key_file: ")
	_, err = config.ServerTLS{CertFile: cert, KeyFile: key, ClientCAFile: empty}.Config()
	require.ErrorContains(t, err, "tls.client_ca_file: "+empty+" holds no certificate")
	_, err = config.ClientTLS{CAFile: filepath.Join(empty, "missing")}.Config()
	require.ErrorContains(t, err, "dgraph_tls.ca_file: ")
	_, err = config.ClientTLS{CertFile: empty, KeyFile: key}.Config()
	require.ErrorContains(t, err, "dgraph_tls.cert_file, dgraph_tls.key_file: ")
}

func TestTheAlphasHTTPIsEncryptedWhereItsGRPCIs(t *testing.T) {
	for _, c := range []struct {
		name, dgraph string
		tls          config.ClientTLS
		want         string
	}{
		{"plain text", "dgraph://host:9080", config.ClientTLS{}, "http://host:8080"},
		{"plain text, said so", "dgraph://host:9080?sslmode=disable", config.ClientTLS{}, "http://host:8080"},
		{"by the address", "dgraph://host:9080?sslmode=verify-ca", config.ClientTLS{}, "https://host:8080"},
		{"by an authority", "host:9080", config.ClientTLS{CAFile: "ca.crt"}, "https://host:8080"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := config.Default()
			conf.Dgraph, conf.DgraphTLS = c.dgraph, c.tls
			u, err := conf.AlphaURL()
			require.NoError(t, err)
			require.Equal(t, c.want, u.String())
		})
	}
}
