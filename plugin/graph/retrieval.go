package graph

import "strconv"

// Retrieval is what a ranked query showed: the content of extensions.evorag, and what
// feedback on it is attributed to. Results are in rank order within each block. A field that is added
// to it, or to what it holds, is written by AppendJSON too.
type Retrieval struct {
	ID        string    `json:"retrieval"` // empty: it can't be rated, and Reason says why
	Namespace uint64    `json:"namespace"`
	Question  string    `json:"question,omitempty"`
	Alpha     float64   `json:"alpha"`    // trade-off used, in [0.1,0.9]
	Embedder  string    `json:"embedder"` // names model, dimension and template of Sr
	Entities  []Entity  `json:"entities,omitempty"`
	Results   []Result  `json:"paths"`
	Context   string    `json:"context"` // numbered text for a prompt
	Partial   bool      `json:"partial"` // a budget cut the search; what is here is the best found
	Reason    string    `json:"reason,omitempty"`
	LeftOut   int       `json:"left_out,omitempty"` // results that feedback has put too far behind the best
	Cache     Cache     `json:"cache"`
	Relevance Relevance `json:"relevance"`
	Timings   Timings   `json:"timings"`

	// Beyond are the results left out, each with its best instance: learning sets what was shown
	// against them. Like what follows they are no part of the answer.
	Beyond []Result `json:"-"`

	// Features are the question's, which the learned weights were multiplied with, and Template
	// what they are made by. Who stores the retrieval keeps them.
	Features Features `json:"-"`
	Template string   `json:"-"`
}

// Ways in which a ranked query finds its candidates.
const (
	CacheResident = "resident"  // in the graph held in memory; what is shown was read again
	CachePart     = "part"      // likewise in the neighbourhoods held of a graph that is too large; what was missing was read
	CacheOnDemand = "on demand" // read from the engine for this query
	CacheOff      = "off"       // likewise, since no graph is to be held in memory
)

// Cache tells how far what was searched may be behind what is there.
type Cache struct {
	Mode string `json:"mode"`
	AsOf int64  `json:"as_of_ms,omitempty"` // Unix time: everything committed before it was searched
}

// Relevance tells how Sr of the triplets came about.
type Relevance struct {
	Way      string `json:"way"`                // hash, triplet or composed
	Model    string `json:"model,omitempty"`    // of embeddings; empty where none is set
	Fallback int    `json:"fallback,omitempty"` // texts of these results that counted by their hashed words, having no vector
	Reason   string `json:"reason,omitempty"`   // why all counted so, though a model is set
}

// Entity is a start node that the question was linked to.
type Entity struct {
	Node
	Score      float64 `json:"score"`                // in (0,1], 1 for a whole name found in the question
	Reason     string  `json:"reason"`               // one of the By...
	Similarity float64 `json:"similarity,omitempty"` // cosine of its name with the question, of ByVector
	Why        string  `json:"why"`                  // e.g. `"Eva" in the question is its name`
}

// Reasons for which a node is a start node.
const (
	ByName   = "name"   // the question holds the name that it is shown by
	ByAlias  = "alias"  // the question holds another of its names
	ByVector = "vector" // its name's vector is near the question's
	ByCaller = "given"  // the request names it
)

// Node is a uid with the name it is shown by (empty where it has none).
type Node struct {
	UID  UID    `json:"uid"`
	Name string `json:"name,omitempty"`
}

// Result is one bundle: a start node, a metapath, and the best paths that follow it, best
// first. With bundle: false it holds exactly one path.
type Result struct {
	N         int        `json:"n"`     // its number in the context text, from 1
	Block     string     `json:"block"` // the DQL block's name
	Start     Node       `json:"start"`
	Metapath  []string   `json:"metapath"`                 // DQL spelling, "~pred" for an inverse step
	Z         float64    `json:"z"`                        // equation (3) with Bias, of the best instance
	Bias      float64    `json:"hop_bias,omitempty"`       // c_h.x/200 of its hop count, a summand of z; 0 before any feedback
	P         float64    `json:"p"`                        // equation (4), over the results retained in this query
	Total     int        `json:"total"`                    // instances that there are, of which Instances are the best
	AtLeast   bool       `json:"total_at_least,omitempty"` // Total is a lower bound: counting was cut
	Instances []Instance `json:"instances"`
}

// Instance is one simple path, from Start to the last triplet's far end.
type Instance struct {
	Nodes    []Node           `json:"nodes"` // Hops()+1, the start first
	Triplets []ScoredTriplet  `json:"triplets"`
	Z        float64          `json:"z"`
	Parts    map[string]Float `json:"parts,omitempty"` // named parts of z, with explain: true
}

// Path is the instance's steps.
func (in Instance) Path() Path {
	var p Path
	if len(in.Nodes) > 0 {
		p.Start = in.Nodes[0].UID
	}
	for _, t := range in.Triplets {
		p.Steps = append(p.Steps, Step{Triplet: t.Triplet, Inverse: t.Inverse, Contribution: Contribution{Score: t.Score}})
	}
	return p
}

// Paths are those of all results' instances.
func (r Retrieval) Paths() []Path {
	var out []Path
	for _, result := range r.Results {
		for _, in := range result.Instances {
			out = append(out, in.Path())
		}
	}
	return out
}

// ScoredTriplet is a triplet as it stood when it was ranked, equation (2).
type ScoredTriplet struct {
	Triplet
	Label   string  `json:"label"` // the relation's text
	Inverse bool    `json:"inverse,omitempty"`
	Score   float64 `json:"score"`           // raw, in [0,200]
	Sr      float64 `json:"sr"`              // in (0,1]
	Sc      float64 `json:"sc"`              // in [0,1]
	Asked   float64 `json:"asked,omitempty"` // w_r.x/200, what the question moves Sc by; 0 before any feedback
	P       float64 `json:"P"`               // in [1e-6,1], of Sc so moved
	Via     string  `json:"via,omitempty"`   // of a shortcut, with explain: true: the path that it stands for
}

// Float is a float64 that prints with at most six significant digits in JSON.
type Float float64

// Timings of the stages of one ranked query, in milliseconds.
type Timings struct {
	Plan       Float `json:"plan_ms"`
	Link       Float `json:"link_ms"`
	Engine     Float `json:"engine_ms"`
	Search     Float `json:"search_ms"`
	Render     Float `json:"render_ms"`
	Total      Float `json:"total_ms"`
	RoundTrips int   `json:"engine_round_trips"`
}

// MarshalJSON prints six significant digits.
func (f Float) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 6, 64), nil
}
