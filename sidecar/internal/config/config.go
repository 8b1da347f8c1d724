// Package config holds the sidecar's settings: defaults in code, then a strict YAML file,
// then DGRAPH_EVORAG_* variables, then flags; the later wins. One Verify checks the result.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is every setting. The yaml tags are the names used in files, in error texts and,
// in capitals with _ for the dots, after DGRAPH_EVORAG_ in the environment.
type Config struct {
	Dgraph     string `yaml:"dgraph"`      // host:port of the alpha's gRPC, or dgraph://host:port?...
	DgraphHTTP string `yaml:"dgraph_http"` // URL of the alpha's HTTP; empty: the gRPC port minus 1000
	HTTPAddr   string `yaml:"http_addr"`   // where we serve Dgraph's HTTP
	GRPCAddr   string `yaml:"grpc_addr"`   // where we serve Dgraph's gRPC

	// RetrievalKeyFile holds the secret that signs retrieval ids, at least 16 bytes, the same
	// for all replicas. Empty: a random one, and ids are good until the process ends.
	RetrievalKeyFile string `yaml:"retrieval_key_file"`
	RetrievalKey     []byte `yaml:"-"`

	Names   []string `yaml:"names"` // predicates that hold a node's display name, best first
	Login   Login    `yaml:"login"`
	Access  Access   `yaml:"access"`
	Ranking Ranking  `yaml:"ranking"`
	Budget  Budget   `yaml:"budget"`
	Limit   Limit    `yaml:"limit"`
	Log     Log      `yaml:"log"`
}

// Login is the sidecar's own account on a cluster with access control. Without a user it
// logs in nowhere.
type Login struct {
	User         string `yaml:"user"`
	PasswordFile string `yaml:"password_file"`
	Namespace    uint64 `yaml:"namespace"`

	// Password comes from PasswordFile or DGRAPH_EVORAG_LOGIN_PASSWORD, never from the
	// settings file or the command line.
	Password string `yaml:"-"`
}

// Access is what the front allows to whom; the alpha's own whitelist sees only the front.
type Access struct {
	// AdminNetworks may call /alter, /admin and /login: networks like 10.0.0.0/8 or addresses.
	AdminNetworks []string `yaml:"admin_networks"`
}

// Ranking holds what @evorag uses where an argument is left out.
type Ranking struct {
	Hops      int     `yaml:"hops"`      // 1..6
	Paths     int     `yaml:"paths"`     // results per root, 1..1000
	Instances int     `yaml:"instances"` // paths shown per bundle, 1..1000
	Entities  int     `yaml:"entities"`  // start nodes that a question is linked to, 1..100
	Alpha     float64 `yaml:"alpha"`     // share of the learned contribution, 0.1..0.9
}

// Budget bounds the work of one ranked query; beyond it the best found so far is returned.
type Budget struct {
	Edges int           `yaml:"edges"` // edges read from the engine
	Steps int           `yaml:"steps"` // edges looked at by the search
	Time  time.Duration `yaml:"time"`
}

// Limit bounds what the fronts accept.
type Limit struct {
	QueryBytes int64 `yaml:"query_bytes"` // HTTP body of a query that carries the directive
}

// Log says what is logged and how.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // text, json
}

// Default is the configuration before any file, variable or flag.
func Default() Config {
	return Config{
		Dgraph:   "127.0.0.1:9080",
		HTTPAddr: "127.0.0.1:8180",
		GRPCAddr: "127.0.0.1:9180",
		Names:    []string{"name", "title", "label"},
		Access:   Access{AdminNetworks: []string{"127.0.0.0/8", "::1/128"}},
		Ranking:  Ranking{Hops: 2, Paths: 10, Instances: 20, Entities: 10, Alpha: 0.5},
		Budget:   Budget{Edges: 200_000, Steps: 2_000_000, Time: 5 * time.Second},
		Limit:    Limit{QueryBytes: 16 << 20},
		Log:      Log{Level: "info", Format: "text"},
	}
}

// Verify checks every field and returns all faults, joined, each naming field and value.
func (c Config) Verify() error {
	var faults []error
	bad := func(field string, value any, write string) {
		faults = append(faults, fmt.Errorf("%s is %q; write %s", field, fmt.Sprint(value), write))
	}
	within := func(field string, v, lo, hi int) {
		if v < lo || v > hi {
			bad(field, v, fmt.Sprintf("a number from %d to %d", lo, hi))
		}
	}
	if _, _, err := hostPort(c.Dgraph); err != nil {
		bad("dgraph", redacted(c.Dgraph), "host:port or dgraph://host:port of an alpha's gRPC, for instance localhost:9080")
	}
	if c.DgraphHTTP != "" {
		if u, err := url.Parse(c.DgraphHTTP); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			bad("dgraph_http", c.DgraphHTTP, "a URL like http://host:8080")
		}
	}
	listen := func(field, addr string) {
		if _, port, err := net.SplitHostPort(addr); err != nil || !isPort(port) {
			bad(field, addr, "host:port, for instance 127.0.0.1:8180")
		}
	}
	listen("http_addr", c.HTTPAddr)
	listen("grpc_addr", c.GRPCAddr)
	if c.HTTPAddr == c.GRPCAddr && !strings.HasSuffix(c.HTTPAddr, ":0") {
		bad("grpc_addr", c.GRPCAddr, "a port that http_addr doesn't use")
	}
	if len(c.Names) == 0 || slices.Contains(c.Names, "") {
		bad("names", strings.Join(c.Names, ","), "at least one predicate, for instance name")
	}
	if _, err := c.Access.Networks(); err != nil {
		faults = append(faults, err)
	}
	if c.Login.User == "" && c.Login.PasswordFile != "" {
		bad("login.user", "", "the user that login.password_file belongs to")
	}
	within("ranking.hops", c.Ranking.Hops, 1, 6)
	within("ranking.paths", c.Ranking.Paths, 1, 1000)
	within("ranking.instances", c.Ranking.Instances, 1, 1000)
	within("ranking.entities", c.Ranking.Entities, 1, 100)
	if !(c.Ranking.Alpha >= 0.1 && c.Ranking.Alpha <= 0.9) {
		bad("ranking.alpha", c.Ranking.Alpha, "a number from 0.1 to 0.9")
	}
	within("budget.edges", c.Budget.Edges, 1, 100_000_000)
	within("budget.steps", c.Budget.Steps, 1, 1_000_000_000)
	if c.Budget.Time <= 0 {
		bad("budget.time", c.Budget.Time, "a duration above zero, for instance 5s")
	}
	if c.Limit.QueryBytes < 1024 {
		bad("limit.query_bytes", c.Limit.QueryBytes, "a number from 1024 on")
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		bad("log.level", c.Log.Level, "debug, info, warn or error")
	}
	if !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		bad("log.format", c.Log.Format, "text or json")
	}
	return errors.Join(faults...)
}

// Networks are AdminNetworks, parsed. A single address is a network of one.
func (a Access) Networks() ([]netip.Prefix, error) {
	nets := make([]netip.Prefix, 0, len(a.AdminNetworks))
	for _, s := range a.AdminNetworks {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			var addr netip.Addr
			if addr, err = netip.ParseAddr(s); err == nil {
				p = netip.PrefixFrom(addr, addr.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("access.admin_networks has %q; write a network like 10.0.0.0/8 or an address", s)
		}
		nets = append(nets, p.Masked())
	}
	return nets, nil
}

// AlphaURL is DgraphHTTP or, where that is empty, http on the gRPC host with its port minus
// 1000: Dgraph shifts all ports of an alpha together (8080 and 9080, 18080 and 19080).
func (c Config) AlphaURL() (*url.URL, error) {
	if c.DgraphHTTP != "" {
		return url.Parse(c.DgraphHTTP)
	}
	host, port, err := hostPort(c.Dgraph)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	if err != nil || n <= 1000 {
		return nil, fmt.Errorf("dgraph_http can't be told from dgraph %q; write dgraph_http, for instance http://%s", redacted(c.Dgraph), net.JoinHostPort(host, "8080"))
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(n-1000))}, nil
}

// hostPort takes host and port out of "host[:port]" or "dgraph://[user:pass@]host[:port][?...]";
// 9080 is Dgraph's own port.
func hostPort(target string) (host, port string, err error) {
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil || u.Scheme != "dgraph" {
			return "", "", fmt.Errorf("%q is not a dgraph:// address", redacted(target))
		}
		target = u.Host
	}
	if !strings.Contains(target, ":") || strings.HasSuffix(target, "]") {
		target += ":9080"
	}
	host, port, err = net.SplitHostPort(target)
	if err == nil && (host == "" || !isPort(port)) {
		err = fmt.Errorf("%q is not host:port", target)
	}
	return host, port, err
}

// redacted is the address without what stands before its @, which may be a password.
func redacted(target string) string {
	scheme, rest, found := strings.Cut(target, "://")
	if !found {
		scheme, rest = "", target
	} else {
		scheme += "://"
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = "…@" + rest[at+1:]
	}
	return scheme + rest
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n <= 65535
}
