package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// ServerTLS is how the fronts encrypt. Without a certificate they don't.
type ServerTLS struct {
	CertFile     string `yaml:"cert_file"`      // the fronts' certificate; empty: no encryption
	KeyFile      string `yaml:"key_file"`       // its key
	ClientCAFile string `yaml:"client_ca_file"` // clients must show a certificate of these authorities; empty: none is asked for
}

// ClientTLS is how the cluster is reached. A field that is set switches encryption on, as
// ?sslmode=verify-ca in dgraph does.
type ClientTLS struct {
	CAFile     string `yaml:"ca_file"`     // the alpha's authorities; empty: the system's
	CertFile   string `yaml:"cert_file"`   // our own certificate, where the alpha asks for one
	KeyFile    string `yaml:"key_file"`    // its key
	ServerName string `yaml:"server_name"` // in the alpha's certificate; empty: the host in dgraph
}

// faults names what doesn't fit together.
func (t ServerTLS) faults(bad func(field string, value any, write string)) {
	if t.CertFile != "" && t.KeyFile == "" {
		bad("tls.key_file", "", "the file with the key of tls.cert_file")
	}
	if t.CertFile == "" && (t.KeyFile != "" || t.ClientCAFile != "") {
		bad("tls.cert_file", "", "the file with the fronts' certificate")
	}
}

func (t ClientTLS) faults(bad func(field string, value any, write string)) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		bad("dgraph_tls.cert_file", t.CertFile, "the certificate, and its key in dgraph_tls.key_file, or neither")
	}
}

// Config is for a server; nil where it doesn't encrypt. Files that change later are read
// again. Errors name the setting.
func (t ServerTLS) Config() (*tls.Config, error) {
	if t.CertFile == "" {
		return nil, nil
	}
	pair := &keyPair{cert: t.CertFile, key: t.KeyFile}
	if _, err := pair.get(); err != nil {
		return nil, fmt.Errorf("tls.cert_file, tls.key_file: %w", err)
	}
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get() },
	}
	if t.ClientCAFile != "" {
		var err error
		if c.ClientCAs, err = authorities(t.ClientCAFile); err != nil {
			return nil, fmt.Errorf("tls.client_ca_file: %w", err)
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// Config is for a client of the cluster; nil where no field is set.
func (t ClientTLS) Config() (*tls.Config, error) {
	if t == (ClientTLS{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		var err error
		if c.RootCAs, err = authorities(t.CAFile); err != nil {
			return nil, fmt.Errorf("dgraph_tls.ca_file: %w", err)
		}
	}
	if t.CertFile != "" {
		pair := &keyPair{cert: t.CertFile, key: t.KeyFile}
		if _, err := pair.get(); err != nil {
			return nil, fmt.Errorf("dgraph_tls.cert_file, dgraph_tls.key_file: %w", err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get() }
	}
	return c, nil
}

func authorities(file string) (*x509.CertPool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("%s holds no certificate; write PEM into it", file)
	}
	return pool, nil
}

// keyPair is a certificate with its key, read again when a file has changed.
type keyPair struct {
	cert, key string

	mu      sync.Mutex
	pair    *tls.Certificate
	changed [2]time.Time // of the files that pair came from
}

// get gives the pair as the files have it, or, where they can't be read now, as they were.
func (k *keyPair) get() (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	changed, err := [2]time.Time{}, error(nil)
	for i, file := range []string{k.cert, k.key} {
		info, statErr := os.Stat(file)
		if statErr != nil {
			err = errors.Join(err, statErr)
			continue
		}
		changed[i] = info.ModTime()
	}
	if err == nil && (k.pair == nil || changed != k.changed) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(k.cert, k.key); err == nil {
			k.pair, k.changed = &pair, changed
		}
	}
	if k.pair == nil {
		return nil, err
	}
	return k.pair, nil
}
