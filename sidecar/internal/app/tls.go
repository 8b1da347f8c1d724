package app

import (
	"crypto/tls"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
)

// towardsCluster is how the cluster is reached, over gRPC and HTTP alike; nil for plain text.
func towardsCluster(cfg config.Config, target dgraph.Target) (*tls.Config, error) {
	own, err := cfg.DgraphTLS.Config()
	if err != nil {
		return nil, err
	}
	byMode := target.TLS()
	if own == nil {
		return byMode, nil
	}
	if byMode != nil {
		own.InsecureSkipVerify = byMode.InsecureSkipVerify //nolint:gosec // what sslmode=require means
	}
	return own, nil
}

// alphaClient asks the alpha over HTTP.
func alphaClient(conf *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: conf, MaxIdleConns: 2, IdleConnTimeout: time.Minute}}
}

// encrypted are the options of a gRPC server that speaks TLS; none without conf.
func encrypted(conf *tls.Config) []grpc.ServerOption {
	if conf == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(conf))}
}
