package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/doctor"
	"github.com/evorag/dgraph-evorag/sidecar/internal/status"
)

// examineTime bounds each question that the doctor asks.
const examineTime = 10 * time.Second

// Examine gathers the facts about an installation and has them judged. It writes nothing.
func Examine(ctx context.Context, cfg config.Config) ([]doctor.Finding, error) {
	networks, err := cfg.Access.Networks()
	if err != nil {
		return nil, err
	}
	f := doctor.Facts{
		GRPC: cfg.Dgraph, User: cfg.Login.User, Namespace: cfg.Login.Namespace, Names: cfg.Names,
		Listen: cfg.HTTPAddr, AdminNetworks: networks, RetrievalKey: cfg.RetrievalKey != nil,
		WebhookSecret: len(cfg.Feedback.Secrets) > 0, AdminToken: cfg.Access.Token != "", Files: secretFiles(cfg),
	}
	if cfg.LLM.BaseURL != "" {
		ctx, cancel := context.WithTimeout(ctx, examineTime)
		f.Models = []doctor.Model{{Name: cfg.LLM.Model, URL: cfg.LLM.BaseURL, Err: newModel(cfg.LLM, nil).Check(ctx)}}
		cancel()
	}
	f.Running, f.PortErr = answersAt(ctx, cfg)
	if err := examineCluster(ctx, cfg, &f); err != nil {
		return nil, err
	}
	return doctor.Examine(f), ctx.Err()
}

// examineCluster asks the cluster. Its error is a fault in the settings.
func examineCluster(ctx context.Context, cfg config.Config, f *doctor.Facts) error {
	target, err := dgraph.ParseTarget(cfg.Dgraph)
	if err != nil {
		return err
	}
	if f.User == "" {
		f.User, f.Namespace = target.User, target.Namespace
	}
	f.GRPC = target.Addr
	alphaTLS, err := towardsCluster(cfg, target)
	if err != nil {
		return err
	}
	alpha, err := cfg.AlphaURL()
	if err != nil {
		return err
	}
	f.HTTP = alpha.String()
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	client, err := Dial(ctx, cfg)
	if err != nil {
		f.VersionErr = err
	} else {
		defer client.Close()
		examineClient(ctx, client, f)
	}
	nodes, date, err := status.AlphaHTTP{URL: alpha, Client: alphaClient(alphaTLS)}.Health(ctx)
	f.HTTPErr = err
	if !date.IsZero() {
		f.HasDate, f.Skew = true, time.Until(date)
	}
	for _, n := range nodes {
		if n.Status != "healthy" {
			f.Sick = append(f.Sick, fmt.Sprintf("%s %s is %s", n.Instance, n.Address, n.Status))
		}
	}
	return nil
}

func examineClient(ctx context.Context, client *dgraph.Client, f *doctor.Facts) {
	if f.Version, f.VersionErr = client.Version(ctx); f.VersionErr != nil {
		return
	}
	_, err := client.Query(ctx, graph.Call{Query: "{ q(func: uid(0x1)) { uid } }", ReadOnly: true})
	f.ACL = err != nil // nobody's call fails where callers must show a token, and only there
	if f.Schema, f.LoginErr = client.OwnSchema(ctx); f.LoginErr != nil {
		return
	}
	if f.ACL {
		f.Groups, f.LoginErr = groups(ctx, client, f.User)
	}
	m, err := Migrator(client)
	if err != nil {
		f.MigrationsErr = err
		return
	}
	all, err := m.Status(ctx)
	f.MigrationsErr = err
	for _, one := range all {
		if one.Applied.IsZero() {
			f.Pending++
		}
	}
}

// groups are those of a user of Dgraph's access control.
func groups(ctx context.Context, client *dgraph.Client, user string) ([]string, error) {
	data, err := client.Read(ctx, `query groups($user: string) { users(func: eq(dgraph.xid, $user)) { dgraph.user.group { dgraph.xid } } }`, map[string]string{"$user": user})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Users []struct {
			Groups []struct {
				Name string `json:"dgraph.xid"`
			} `json:"dgraph.user.group"`
		} `json:"users"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("reading the groups of %s: %w", user, err)
	}
	var out []string
	for _, u := range answer.Users {
		for _, g := range u.Groups {
			out = append(out, g.Name)
		}
	}
	return out, nil
}

// secretFiles are those that are configured and there; config.Load has read them.
func secretFiles(cfg config.Config) (files []doctor.File) {
	for _, f := range []doctor.File{
		{Setting: "retrieval_key_file", Path: cfg.RetrievalKeyFile}, {Setting: "login.password_file", Path: cfg.Login.PasswordFile},
		{Setting: "llm.api_key_file", Path: cfg.LLM.APIKeyFile}, {Setting: "feedback.secret_file", Path: cfg.Feedback.SecretFile},
		{Setting: "access.token_file", Path: cfg.Access.TokenFile}, {Setting: "tls.key_file", Path: cfg.TLS.KeyFile}, {Setting: "dgraph_tls.key_file", Path: cfg.DgraphTLS.KeyFile},
	} {
		if info, err := os.Stat(f.Path); f.Path != "" && err == nil {
			f.Mode = info.Mode()
			files = append(files, f)
		}
	}
	return files
}

// answersAt tells whether a sidecar answers at http_addr, or else what keeps the port from
// being taken.
func answersAt(ctx context.Context, cfg config.Config) (running bool, err error) {
	scheme := "http"
	if cfg.TLS.CertFile != "" {
		scheme = "https"
	}
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, scheme+"://"+cfg.HTTPAddr+"/evorag/health", nil)
	if err != nil {
		return false, err
	}
	// It is our own address that is asked, under a name that the certificate need not hold.
	client := alphaClient(&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // nothing is sent or believed
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	var alert tls.AlertError
	switch {
	case errors.As(err, &alert): // it asks for a certificate of ours
		return true, nil
	case err == nil:
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return true, nil
		}
	}
	l, err := net.Listen("tcp", cfg.HTTPAddr)
	if err != nil {
		return false, err
	}
	return false, l.Close()
}
