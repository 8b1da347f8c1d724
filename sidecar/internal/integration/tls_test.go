package integration_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/dgo/v230"
	"github.com/dgraph-io/dgo/v230/protos/api"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config/certtest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
)

// over is a client of both fronts with a TLS configuration of its own.
type over struct {
	at   app.Addresses
	conf *tls.Config
}

// post sends a query and gives the answer.
func (o over) post(t testing.TB, query string) (string, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: o.conf.Clone(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post("https://"+o.at.HTTP+"/query", "application/dql", strings.NewReader(query))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func (o over) dgo(t testing.TB) *dgo.Dgraph {
	t.Helper()
	conn, err := grpc.NewClient(o.at.GRPC, grpc.WithTransportCredentials(credentials.NewTLS(o.conf.Clone())))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return dgo.NewDgraphClient(api.NewDgraphClient(conn))
}

// works asks a ranked and a plain query over both protocols.
func (o over) works(t testing.TB) {
	t.Helper()
	for _, query := range []string{`{ q(func: eq(name, "Ann Archer")) { name knows { name } } }`, forms("Ann Archer")["hops"]} {
		answer, err := o.post(t, query)
		require.NoError(t, err)
		require.Contains(t, answer, "Bea Baker")
		resp, err := o.dgo(t).NewReadOnlyTxn().Query(t.Context(), query)
		require.NoError(t, err)
		require.Contains(t, string(resp.Json), "Bea Baker")
	}
}

// refused tells that neither protocol answers.
func (o over) refused(t testing.TB) {
	t.Helper()
	_, err := o.post(t, "{}")
	require.Error(t, err)
	_, err = o.dgo(t).NewReadOnlyTxn().Query(t.Context(), `{ q(func: uid(1)) { uid } }`)
	require.Error(t, err)
}

func TestTheFrontsEncrypt(t *testing.T) {
	eng := enginetest.Shared(t)
	eng.Reset(t)
	eng.Alter(t, peopleSchema)
	eng.Mutate(t, `
		_:ann <name> "Ann Archer" .
		_:ann <knows> _:bea .
		_:bea <name> "Bea Baker" .`)
	ca, other := certtest.New(t), certtest.New(t)
	c := settings(eng.GRPCAddr())
	c.TLS.CertFile, c.TLS.KeyFile = ca.Issue("front")

	t.Run("for everybody", func(t *testing.T) {
		at := serve(t, c)
		over{at, ca.Client("")}.works(t)
		over{at, other.Client("")}.refused(t)
		_, err := client(t, at.GRPC).NewReadOnlyTxn().Query(t.Context(), "{}")
		require.Error(t, err, "plain text")
	})
	t.Run("for those with a certificate", func(t *testing.T) {
		c := c
		c.TLS.ClientCAFile = ca.File
		at := serve(t, c)
		over{at, ca.Client("client")}.works(t)
		over{at, ca.Client("")}.refused(t)
		stranger := other.Client("stranger")
		stranger.RootCAs = ca.Client("").RootCAs
		over{at, stranger}.refused(t)
	})
}

// startAlpha starts an alpha with more flags, which joins the engine's cluster, and gives its
// ports once it is up.
func startAlpha(t *testing.T, eng *enginetest.Engine, health func(port int) error, flags ...string) (httpPort, grpcPort int) {
	t.Helper()
	dir, offset := t.TempDir(), freeOffset(t)
	var log bytes.Buffer
	cmd := exec.Command(enginetest.Bin(t), append([]string{
		"alpha", "--bindall=false", "--my", fmt.Sprintf("localhost:%d", 7080+offset),
		"--zero", fmt.Sprintf("localhost:%d", eng.Ports().ZeroGRPC), "--port_offset", fmt.Sprint(offset),
		"--postings", filepath.Join(dir, "p"), "--wal", filepath.Join(dir, "w"), "--tmp", filepath.Join(dir, "t"),
		"--telemetry", "reports=false", "--security", "whitelist=127.0.0.1",
	}, flags...)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	require.Eventually(t, func() bool { return health(8080+offset) == nil }, time.Minute, 200*time.Millisecond)
	return 8080 + offset, 9080 + offset
}

// freeOffset is how far an alpha's three ports can be shifted, below those that systems hand out.
func freeOffset(t *testing.T) int {
	t.Helper()
	for range 100 {
		offset, free := 5000+rand.IntN(18000), true
		for _, port := range []int{7080, 8080, 9080} {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+offset))
			if err != nil {
				free = false
				continue
			}
			l.Close()
		}
		if free {
			return offset
		}
	}
	t.Fatal("no free ports")
	return 0
}

func TestAnAlphaThatWantsCertificates(t *testing.T) {
	eng := enginetest.Start(t, engine.Options{}) // its cluster is of no use once the second alpha has gone
	eng.Alter(t, peopleSchema)
	eng.Mutate(t, `
		_:ann <name> "Ann Archer" .
		_:ann <knows> _:bea .
		_:bea <name> "Bea Baker" .`)
	ca := certtest.New(t)
	cert, key := ca.Issue("alpha")
	ours := ca.Client("sidecar")
	transport := &http.Transport{TLSClientConfig: ours}
	defer transport.CloseIdleConnections()
	httpPort, grpcPort := startAlpha(t, eng, func(port int) error {
		resp, err := (&http.Client{Transport: transport}).Get(fmt.Sprintf("https://127.0.0.1:%d/health", port))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	}, "--tls", "ca-cert="+ca.File+"; server-cert="+cert+"; server-key="+key+"; client-auth-type=REQUIREANDVERIFY")

	c := settings(fmt.Sprintf("127.0.0.1:%d", grpcPort))
	c.DgraphTLS.CAFile = ca.File
	c.DgraphTLS.CertFile, c.DgraphTLS.KeyFile = ca.Issue("sidecar")
	url, err := c.AlphaURL()
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("https://127.0.0.1:%d", httpPort), url.String())

	t.Run("is reached with ours, over gRPC and HTTP", func(t *testing.T) {
		c := c
		c.TLS.CertFile, c.TLS.KeyFile = ca.Issue("front")
		at := serve(t, c)
		over{at, ca.Client("")}.works(t)
	})
	for name, change := range map[string]func(*config.Config){
		"no certificate":         func(c *config.Config) { c.DgraphTLS.CertFile, c.DgraphTLS.KeyFile = "", "" },
		"an unknown authority":   func(c *config.Config) { c.DgraphTLS.CAFile = certtest.New(t).File },
		"the system authorities": func(c *config.Config) { c.Dgraph, c.DgraphTLS.CAFile = "dgraph://"+c.Dgraph+"?sslmode=verify-ca", "" },
		"another name":           func(c *config.Config) { c.DgraphTLS.ServerName = "elsewhere" },
		"plain text":             func(c *config.Config) { c.DgraphTLS = config.ClientTLS{} },
	} {
		t.Run("is not reached with "+name, func(t *testing.T) {
			c := c
			change(&c)
			err := app.Serve(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
			require.ErrorContains(t, err, "no Dgraph answers at ")
			t.Log(err)
		})
	}
	t.Run("sslmode=require asks for no name", func(t *testing.T) {
		c := c
		c.Dgraph = "dgraph://" + c.Dgraph + "?sslmode=require"
		c.DgraphTLS.ServerName = "elsewhere"
		serve(t, c)
	})
}
