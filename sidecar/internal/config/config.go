// Package config holds the sidecar's settings: defaults in code, then a strict YAML file,
// then DGRAPH_EVORAG_* variables, then flags; the later wins. One Verify checks the result.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/rank"
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

	TLS       ServerTLS `yaml:"tls"`        // of the fronts
	DgraphTLS ClientTLS `yaml:"dgraph_tls"` // towards the cluster

	Names     []string  `yaml:"names"` // predicates that hold a node's display name, best first
	Login     Login     `yaml:"login"`
	Access    Access    `yaml:"access"`
	Ranking   Ranking   `yaml:"ranking"`
	Budget    Budget    `yaml:"budget"`
	Cache     Cache     `yaml:"cache"`
	LLM       LLM       `yaml:"llm"`
	Embedding Embedding `yaml:"embedding"`
	Judge     Judge     `yaml:"judge"`
	Feedback  Feedback  `yaml:"feedback"`
	Evolution Evolution `yaml:"evolution"`
	Limit     Limit     `yaml:"limit"`
	Log       Log       `yaml:"log"`
}

// Login is the sidecar's own account on a cluster with access control. Without a user it
// logs in nowhere.
type Login struct {
	User         string `yaml:"user"`          // empty: it logs in nowhere
	PasswordFile string `yaml:"password_file"` // with the user's password on its first line
	Namespace    uint64 `yaml:"namespace"`     // to log in to

	// Password comes from PasswordFile or DGRAPH_EVORAG_LOGIN_PASSWORD, never from the
	// settings file or the command line.
	Password string `yaml:"-"`
}

// Access is what the front allows to whom; the alpha's own whitelist sees only the front.
type Access struct {
	// AdminNetworks may call /alter, /admin, /login and the administrative services under /evorag:
	// networks like 10.0.0.0/8 or addresses.
	AdminNetworks []string `yaml:"admin_networks"`

	// TokenFile holds the administrators' token, at least 16 letters. Who sends it, as
	// Authorization: Bearer, may use the administrative services under /evorag from anywhere.
	TokenFile string `yaml:"token_file"`
	Token     string `yaml:"-"` // comes from TokenFile or DGRAPH_EVORAG_ACCESS_TOKEN
}

// leastToken is the length from which on a token is not guessed.
const leastToken = 16

// readSecret reads the token.
func (a *Access) readSecret() error {
	if a.TokenFile != "" {
		b, err := os.ReadFile(a.TokenFile)
		if err != nil {
			return fmt.Errorf("access.token_file: %w", err)
		}
		a.Token = strings.TrimSpace(string(b))
		if a.Token == "" {
			return fmt.Errorf("access.token_file %s holds no token; make one with: head -c 32 /dev/urandom | base64", a.TokenFile)
		}
	}
	if a.Token != "" && len(a.Token) < leastToken {
		return fmt.Errorf("the token of access.token_file has %d letters; write at least %d", len(a.Token), leastToken)
	}
	return nil
}

// Ranking holds what @evorag uses where an argument is left out.
type Ranking struct {
	Hops      int     `yaml:"hops"`      // 1..6
	Paths     int     `yaml:"paths"`     // results per root, 1..1000
	Instances int     `yaml:"instances"` // paths shown per bundle, 1..1000
	Entities  int     `yaml:"entities"`  // start nodes that a question is linked to, 1..100
	Alpha     float64 `yaml:"alpha"`     // share of the learned contribution, 0.1..0.9
	Margin    float64 `yaml:"margin"`    // how far, in z, feedback may put a result of a search behind the best before it is left out; 0: all are shown
	PathRule  string  `yaml:"path_rule"` // all: every path is a candidate; maximal: only those that are not the beginning of another, for questions that are all as long as hops
}

// Budget bounds the work of one ranked query; beyond it the best found so far is returned.
type Budget struct {
	Edges int           `yaml:"edges"` // edges read from the engine
	Steps int           `yaml:"steps"` // edges looked at by the search from each start node
	Time  time.Duration `yaml:"time"`  // of a block's search, from all its start nodes
}

// Cache is the graph that is held in memory to search in.
type Cache struct {
	Mode     string        `yaml:"mode"`      // on; off: every search reads the engine level by level
	MemoryMB int           `yaml:"memory_mb"` // of a larger graph a part is held, the nodes that searches came by
	Refresh  time.Duration `yaml:"refresh"`   // without a change feed: how old it may become before it is read anew
}

// LLM is the chat model: any server that speaks OpenAI's API. Without a base_url there is
// none: questions are not answered, and nothing is judged by a model.
type LLM struct {
	BaseURL        string        `yaml:"base_url"`         // for instance http://127.0.0.1:11434/v1
	Model          string        `yaml:"model"`            // as that server names it
	APIKeyFile     string        `yaml:"api_key_file"`     // for servers that want a key
	Timeout        time.Duration `yaml:"timeout"`          // longest silence of the server
	Retries        int           `yaml:"retries"`          // after a failed attempt, 0..10
	CallsPerMinute int           `yaml:"calls_per_minute"` // beyond it calls wait
	CallsPerHour   int           `yaml:"calls_per_hour"`   // beyond it work waits for the next hour
	TokensPerHour  int           `yaml:"tokens_per_hour"`  // read and written
	MaxTokens      int           `yaml:"max_tokens"`       // of an answer
	ContextBytes   int           `yaml:"context_bytes"`    // of paths in a prompt
	ResponseFormat string        `yaml:"response_format"`  // json_schema, json_object or text: what the server knows

	PromptPrice     float64 `yaml:"prompt_price"`     // what a million tokens of prompts cost, in any currency, for dgraph_evorag_llm_cost_total
	CompletionPrice float64 `yaml:"completion_price"` // likewise of what the model writes

	// APIKey comes from APIKeyFile or DGRAPH_EVORAG_LLM_API_KEY.
	APIKey string `yaml:"-"`
}

// Judge says how much the model rates by itself.
type Judge struct {
	Share float64 `yaml:"share"` // of the answers of /evorag/v1/ask and the chat, 0..1
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
		Ranking:  Ranking{Hops: 2, Paths: 10, Instances: 20, Entities: 10, Alpha: rank.DefaultAlpha, Margin: rank.DefaultMargin, PathRule: "all"},
		Budget:   Budget{Edges: 200_000, Steps: 2_000_000, Time: 5 * time.Second},
		Cache:    Cache{Mode: "on", MemoryMB: 1024, Refresh: 30 * time.Second},
		LLM: LLM{
			Timeout: time.Minute, Retries: 3, CallsPerMinute: 120, CallsPerHour: 2000, TokensPerHour: 5_000_000,
			MaxTokens: 1024, ContextBytes: 24_000, ResponseFormat: "json_schema",
		},
		Embedding: defaultEmbedding(),
		Feedback:  defaultFeedback(),
		Evolution: defaultEvolution(),
		Limit:     Limit{QueryBytes: 16 << 20},
		Log:       Log{Level: "info", Format: "text"},
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
	c.TLS.faults(bad)
	c.DgraphTLS.faults(bad)
	if c.Login.User == "" && c.Login.PasswordFile != "" {
		bad("login.user", "", "the user that login.password_file belongs to")
	}
	within("ranking.hops", c.Ranking.Hops, 1, 6)
	within("ranking.paths", c.Ranking.Paths, 1, 1000)
	within("ranking.instances", c.Ranking.Instances, 1, 1000)
	within("ranking.entities", c.Ranking.Entities, 1, 100)
	if !(c.Ranking.Alpha >= rank.MinAlpha && c.Ranking.Alpha <= rank.MaxAlpha) {
		bad("ranking.alpha", c.Ranking.Alpha, "a number from 0.1 to 0.9")
	}
	if !(c.Ranking.Margin >= 0 && c.Ranking.Margin <= 10) {
		bad("ranking.margin", c.Ranking.Margin, "a number from 0 to 10")
	}
	if !slices.Contains([]string{"all", "maximal"}, c.Ranking.PathRule) {
		bad("ranking.path_rule", c.Ranking.PathRule, "all or maximal")
	}
	within("budget.edges", c.Budget.Edges, 1, 100_000_000)
	within("budget.steps", c.Budget.Steps, 1, 1_000_000_000)
	if c.Budget.Time <= 0 {
		bad("budget.time", c.Budget.Time, "a duration above zero, for instance 5s")
	}
	if !slices.Contains([]string{"on", "off"}, c.Cache.Mode) {
		bad("cache.mode", c.Cache.Mode, "on or off")
	}
	within("cache.memory_mb", c.Cache.MemoryMB, 1, 1_000_000)
	if c.Cache.Refresh < time.Second {
		bad("cache.refresh", c.Cache.Refresh, "a duration from 1s on")
	}
	c.LLM.verify(bad, within)
	c.Embedding.verify(bad, within)
	if !(c.Judge.Share >= 0 && c.Judge.Share <= 1) {
		bad("judge.share", c.Judge.Share, "a number from 0 to 1")
	}
	if c.Judge.Share > 0 && c.LLM.BaseURL == "" {
		bad("judge.share", c.Judge.Share, "0, or set llm.base_url and llm.model")
	}
	c.Feedback.verify(bad, within)
	c.Evolution.verify(bad, within)
	c.Evolution.verifyNamespaces(c.Login.Namespace, bad)
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

func (l LLM) verify(bad func(field string, value any, write string), within func(field string, v, lo, hi int)) {
	if l.BaseURL != "" {
		if u, err := url.Parse(l.BaseURL); err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
			bad("llm.base_url", redacted(l.BaseURL), "a URL like http://127.0.0.1:11434/v1, without a key in it")
		}
		if l.Model == "" {
			bad("llm.model", "", "the model's name as the server at llm.base_url has it")
		}
	}
	if l.Timeout <= 0 {
		bad("llm.timeout", l.Timeout, "a duration above zero, for instance 1m")
	}
	within("llm.retries", l.Retries, 0, 10)
	within("llm.calls_per_minute", l.CallsPerMinute, 1, 1_000_000)
	within("llm.calls_per_hour", l.CallsPerHour, 1, 100_000_000)
	within("llm.tokens_per_hour", l.TokensPerHour, 1, 1_000_000_000)
	within("llm.max_tokens", l.MaxTokens, 1, 1_000_000)
	within("llm.context_bytes", l.ContextBytes, 1000, 10_000_000)
	for field, price := range map[string]float64{"llm.prompt_price": l.PromptPrice, "llm.completion_price": l.CompletionPrice} {
		if !(price >= 0 && price <= 1e6) {
			bad(field, price, "what a million tokens cost, from 0 on")
		}
	}
	if !slices.Contains([]string{"json_schema", "json_object", "text"}, l.ResponseFormat) {
		bad("llm.response_format", l.ResponseFormat, "json_schema, json_object or text")
	}
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

// AlphaURL is DgraphHTTP or, where that is empty, the gRPC host with its port minus 1000:
// Dgraph shifts all ports of an alpha together (8080 and 9080, 18080 and 19080), and encrypts
// all or none.
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
	scheme := "http"
	if c.DgraphTLS != (ClientTLS{}) || sslMode(c.Dgraph) != "" {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(n-1000))}, nil
}

// sslMode is what the address says of encryption, empty for none.
func sslMode(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Query().Get("sslmode") == "disable" {
		return ""
	}
	return u.Query().Get("sslmode")
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
