// Package doctor tells what is wrong with an installation, and how to mend it. What to think of
// the facts is decided by one function over a value; who gathers them is somebody else.
package doctor

import (
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Verdict is how bad a finding is.
type Verdict string

// The verdicts.
const (
	Good    Verdict = "ok"
	Warning Verdict = "warning" // it works, and will not in some situation
	Bad     Verdict = "bad"     // it doesn't work
)

// Finding is one thing that was looked at.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Mend    string  `json:"mend,omitempty"` // what to do; empty where nothing is to be done
}

// Facts are all that was found. Fields behind one that failed are zero.
type Facts struct {
	GRPC       string // the alpha's address
	Version    string // the alpha's
	VersionErr error

	HTTP    string // the alpha's URL
	HTTPErr error
	Sick    []string      // nodes that are not healthy
	Skew    time.Duration // by which the alpha's clock is ahead of ours; it tells whole seconds
	HasDate bool

	User      string // the sidecar's own
	Namespace uint64
	ACL       bool // callers without a token are refused
	LoginErr  error
	Groups    []string // of User

	Schema        graph.Schema
	Pending       int // migrations
	MigrationsErr error
	Names         []string // configured name predicates

	Models []Model
	Files  []File

	Listen        string // http_addr
	AdminNetworks []netip.Prefix
	RetrievalKey  bool // configured
	WebhookSecret bool // configured
	AdminToken    bool // configured
	Running       bool // a sidecar answers at Listen
	PortErr       error
}

// Model is a model server that is configured.
type Model struct {
	Name, URL string
	Err       error
}

// File is a secret's file.
type File struct {
	Setting, Path string
	Mode          fs.FileMode
}

// Tolerated differences of clocks.
const (
	skewNoticed = 3 * time.Second // the alpha tells whole seconds
	skewTooFar  = time.Minute     // leases last 30 s, signatures are checked to minutes
)

// tokenizer is the extension's own.
const tokenizer = "evorag_entity"

// Examine judges the facts, in the order in which one would mend them.
func Examine(f Facts) []Finding {
	var e examination
	e.reach(f)
	e.clock(f)
	if f.VersionErr == nil {
		e.permissions(f)
		if f.LoginErr == nil {
			e.schema(f)
		}
	}
	e.models(f)
	e.exposure(f)
	e.secrets(f)
	e.sidecar(f)
	return e.findings
}

// Worst is the worst verdict of all.
func Worst(findings []Finding) Verdict {
	worst := Good
	for _, f := range findings {
		if f.Verdict == Bad || f.Verdict == Warning && worst == Good {
			worst = f.Verdict
		}
	}
	return worst
}

type examination struct{ findings []Finding }

func (e *examination) say(check string, v Verdict, text, mend string) {
	e.findings = append(e.findings, Finding{check, v, text, mend})
}

func (e *examination) reach(f Facts) {
	if f.VersionErr != nil {
		e.say("gRPC", Bad, f.VersionErr.Error(), "start Dgraph, or give its gRPC address with --dgraph host:port (setting dgraph)")
	} else {
		e.say("gRPC", Good, "Dgraph "+f.Version+" answers at "+f.GRPC, "")
		v, mend := supported(f.Version)
		e.say("version", v, "Dgraph "+f.Version, mend)
	}
	if f.HTTPErr != nil {
		e.say("HTTP", Bad, "the alpha's HTTP at "+f.HTTP+" doesn't answer: "+f.HTTPErr.Error(), "give its URL with --dgraph-http (setting dgraph_http)")
		return
	}
	e.say("HTTP", Good, "the alpha answers at "+f.HTTP, "")
	for _, n := range f.Sick {
		e.say("cluster", Bad, n, "look at that node's log and disk")
	}
}

// supported judges an engine's version: those that this program is tested on.
func supported(version string) (Verdict, string) {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(major)
	m, err2 := strconv.Atoi(minor)
	switch {
	case err != nil || err2 != nil:
		return Warning, "this is no released version; the tests run on v25.4.0, v25.0.0 and v24.1.2"
	case n < 24 || n == 24 && m < 1:
		return Bad, "upgrade Dgraph to v24.1.2 or later"
	case n > 25:
		return Warning, "the tests run on v25.4.0, v25.0.0 and v24.1.2; look for a newer dgraph-evorag"
	}
	return Good, ""
}

func (e *examination) clock(f Facts) {
	skew := f.Skew.Abs().Round(time.Second)
	switch {
	case !f.HasDate:
	case skew >= skewTooFar:
		e.say("clock", Bad, fmt.Sprintf("the alpha's clock and this machine's differ by %s", skew), "run a time service (NTP) on both: leases and signatures go by the clock")
	case skew > skewNoticed:
		e.say("clock", Warning, fmt.Sprintf("the alpha's clock and this machine's differ by %s", skew), "run a time service (NTP) on both")
	default:
		e.say("clock", Good, "the alpha's clock and this machine's agree", "")
	}
}

func (e *examination) permissions(f Facts) {
	who := fmt.Sprintf("%s in namespace %d", f.User, f.Namespace)
	switch {
	case f.LoginErr != nil && f.User == "":
		e.say("permissions", Bad, "the cluster has access control and the sidecar has no user: "+f.LoginErr.Error(), "set login.user and login.password_file to a member of the group guardians")
	case f.LoginErr != nil:
		e.say("permissions", Bad, f.LoginErr.Error(), "look at login.user, login.password_file and login.namespace")
	case !f.ACL && !loopback(f.Listen):
		e.say("permissions", Warning, "the cluster has no access control, and "+f.Listen+" is open to other machines: whoever reaches it reads and writes everything", "switch access control on in Dgraph (--acl), or keep strangers out by the network")
	case !f.ACL:
		e.say("permissions", Good, "the cluster has no access control", "")
	case !slices.Contains(f.Groups, "guardians"):
		e.say("permissions", Bad, who+" is not in the group guardians", "add it: the sidecar alters the schema under evorag.* and reads what only guardians may")
	default:
		e.say("permissions", Good, who+" is a guardian", "")
	}
}

func (e *examination) schema(f Facts) {
	switch {
	case f.MigrationsErr != nil:
		e.say("schema", Bad, f.MigrationsErr.Error(), "run a dgraph-evorag that is as new as the one that migrated this cluster")
	case f.Pending > 0:
		e.say("schema", Warning, fmt.Sprintf("%d migrations are still to run", f.Pending), "run dgraph-evorag migrate up; serve does it by itself")
	default:
		e.say("schema", Good, "the migrations are all there", "")
	}
	relations := f.Schema.UIDPredicates()
	if len(relations) == 0 {
		e.say("graph", Warning, "the graph has no edges yet", "load some: dgraph-evorag load FILE")
	} else {
		e.say("graph", Good, fmt.Sprintf("%d relations", len(relations)), "")
	}
	e.names(f)
}

// names judges whether questions can be linked to nodes.
func (e *examination) names(f Facts) {
	found := false
	for _, n := range f.Names {
		p, ok := f.Schema.Predicates[n]
		if !ok || p.Type != "string" && p.Type != "default" {
			continue
		}
		found = true
		switch {
		case p.HasTokenizer(tokenizer):
			e.say("names", Good, n+" is indexed by "+tokenizer, "")
		case p.HasTokenizer("term") || p.HasTokenizer("exact") || p.HasTokenizer("hash"):
			e.say("names", Good, n+" is indexed; with the tokenizer "+tokenizer+" names of several words would be found faster", "")
		default:
			e.say("names", Warning, n+" has no index, so questions can't be linked by it", "give it one: "+n+": string @index(exact, term) .")
		}
	}
	if !found {
		e.say("names", Warning, "none of "+strings.Join(f.Names, ", ")+" is a string predicate, so questions can't be linked to nodes", "set names to the predicate that holds your nodes' names")
	}
}

func (e *examination) models(f Facts) {
	for _, m := range f.Models {
		if m.Err != nil {
			e.say("model", Bad, m.Name+" at "+m.URL+": "+m.Err.Error(), "look at llm.base_url, llm.model and llm.api_key_file, and whether the server runs")
			continue
		}
		e.say("model", Good, m.Name+" answers at "+m.URL, "")
	}
	if len(f.Models) == 0 {
		e.say("model", Good, "none is set: ask, chat and judge are off", "")
	}
}

func (e *examination) exposure(f Facts) {
	if loopback(f.Listen) {
		e.say("access", Good, f.Listen+" is open to this machine only", "")
		return
	}
	if !f.WebhookSecret {
		e.say("access", Warning, "ratings from other machines are refused", "set feedback.secret_file")
	}
	wide := slices.ContainsFunc(f.AdminNetworks, func(n netip.Prefix) bool { return n.Bits() == 0 })
	switch {
	case wide:
		e.say("access", Warning, "access.admin_networks holds every address: whoever reaches "+f.Listen+" may alter the schema", "name your own networks, or use access.token_file")
	case f.AdminToken || slices.ContainsFunc(f.AdminNetworks, func(n netip.Prefix) bool { return !n.Addr().IsLoopback() }):
		e.say("access", Good, "administrators are told by address or token", "")
	default:
		e.say("access", Warning, "administrative services are open to this machine only", "set access.token_file, or access.admin_networks, to use them from afar")
	}
}

func (e *examination) secrets(f Facts) {
	if !f.RetrievalKey {
		e.say("secrets", Warning, "retrieval ids end with the process, and replicas don't know each other's", "set retrieval_key_file to a file with 32 random bytes, the same for all replicas")
	}
	for _, file := range f.Files {
		if file.Mode.Perm()&0o004 != 0 {
			e.say("secrets", Warning, fmt.Sprintf("%s %s can be read by every user of this machine", file.Setting, file.Path), "chmod 600 "+file.Path)
		}
	}
}

func (e *examination) sidecar(f Facts) {
	switch {
	case f.Running:
		e.say("sidecar", Good, "a sidecar answers at "+f.Listen, "")
	case f.PortErr != nil:
		e.say("sidecar", Bad, f.Listen+" can't be had: "+f.PortErr.Error(), "stop what holds it, or give another with --http")
	default:
		e.say("sidecar", Good, "none runs at "+f.Listen+"; the port is free", "")
	}
}

// loopback tells an address that only this machine reaches.
func loopback(hostPort string) bool {
	host := hostPort
	if i := strings.LastIndex(hostPort, ":"); i >= 0 {
		host = strings.Trim(hostPort[:i], "[]")
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
