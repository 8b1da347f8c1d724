package cli

import (
	"github.com/spf13/cobra"
)

// question is the body of POST /evorag/v1/retrieve and /evorag/v1/ask, as those services
// document it.
type question struct {
	Question  string   `json:"question"`
	Entities  []string `json:"entities,omitempty"`
	Count     int      `json:"entity_count,omitempty"`
	Hops      int      `json:"hops,omitempty"`
	Paths     int      `json:"paths,omitempty"`
	Instances int      `json:"instances,omitempty"`
	Fanout    int      `json:"fanout,omitempty"`
	Alpha     *float64 `json:"alpha,omitempty"`
	Bundle    *bool    `json:"bundle,omitempty"`
	Via       []string `json:"via,omitempty"`
	Hidden    bool     `json:"hidden,omitempty"`
	Explain   bool     `json:"explain,omitempty"`
	Stream    bool     `json:"stream,omitempty"` // ask only
}

// questionFlags are the flags that say how paths are retrieved, and from which server.
type questionFlags struct {
	question
	alpha             float64
	bundle            bool
	server, tokenFile string
}

func (q *questionFlags) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.server, "server", "", "`URL` of the sidecar (default: DGRAPH_EVORAG_SERVER, else "+defaultServer+")")
	f.StringVar(&q.tokenFile, "token-file", "", "`file` with an access token, for a cluster with access control")
	f.StringArrayVar(&q.Entities, "entity", nil, "start `node`, a name or uid; may be repeated (default: those that the question names)")
	f.IntVar(&q.Count, "entities", 0, "how many start nodes to take from the question")
	f.IntVar(&q.Hops, "hops", 0, "longest path, 1 to 6")
	f.IntVar(&q.Paths, "paths", 0, "results for each start node")
	f.IntVar(&q.Instances, "instances", 0, "paths shown of each result")
	f.IntVar(&q.Fanout, "fanout", 0, "edges followed from one node by one predicate")
	f.Float64Var(&q.alpha, "alpha", 0, "share of what was learned, 0 to 1")
	f.BoolVar(&q.bundle, "bundle", true, "false: single paths instead of bundles of paths along the same relations")
	f.StringSliceVar(&q.Via, "via", nil, "`predicates` to follow, ~pred for backwards (default: all)")
	f.BoolVar(&q.Hidden, "hidden", false, "show suppressed edges too, and results that feedback has put far behind")
}

// asked is the question with the flags that were given.
func (q *questionFlags) asked(cmd *cobra.Command, text string) question {
	out := q.question
	out.Question = text
	if cmd.Flags().Changed("alpha") {
		out.Alpha = &q.alpha
	}
	if cmd.Flags().Changed("bundle") {
		out.Bundle = &q.bundle
	}
	return out
}
