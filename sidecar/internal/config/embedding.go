package config

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// Embedding is the model that turns texts into vectors: any server that speaks OpenAI's
// /v1/embeddings. Without a base_url there is none, and relevance is hashed words.
type Embedding struct {
	Way            string        `yaml:"way"`              // how relevance comes about: hash; triplet, the vector of "head relation object" as in the paper; composed, those of names and labels
	BaseURL        string        `yaml:"base_url"`         // for instance http://127.0.0.1:11434/v1
	Model          string        `yaml:"model"`            // as that server names it
	Dimensions     int           `yaml:"dimensions"`       // asked for and insisted on; 0: the model's own
	APIKeyFile     string        `yaml:"api_key_file"`     // for servers that want a key
	Timeout        time.Duration `yaml:"timeout"`          // longest silence of the server
	QuestionTime   time.Duration `yaml:"question_timeout"` // longest wait for a question's vector; then the query goes by hashed words
	Retries        int           `yaml:"retries"`          // after a failed attempt, 0..10
	CallsPerMinute int           `yaml:"calls_per_minute"` // beyond it calls wait
	Batch          int           `yaml:"batch"`            // texts in one call
	Lazy           string        `yaml:"lazy"`             // on: texts that answers miss are embedded in the background; off: by "dgraph-evorag index" alone
	MemoryMB       int           `yaml:"memory_mb"`        // of vectors; texts beyond go by their hashed words
	Dir            string        `yaml:"dir"`              // folder that keeps vectors; empty: in the data folder of "up", else in the user's cache folder
	Near           int           `yaml:"near"`             // start nodes to add whose names are near the question, 0..100
	NearCosine     float64       `yaml:"near_cosine"`      // how near they are at least, 0..1
	Predicate      string        `yaml:"predicate"`        // in the cluster: nodes' vectors of this model, float32vector @index(hnsw(metric: "cosine")); then near start nodes are those that similar_to finds; empty: those of names in memory
	Price          float64       `yaml:"price"`            // what a million tokens cost, for "index --dry-run" and the metrics

	// APIKey comes from APIKeyFile or DGRAPH_EVORAG_EMBEDDING_API_KEY.
	APIKey string `yaml:"-"`
}

func defaultEmbedding() Embedding {
	return Embedding{
		Way: "hash", Timeout: 30 * time.Second, QuestionTime: 2 * time.Second, Retries: 3, CallsPerMinute: 600, Batch: 128, Lazy: "on",
		MemoryMB: 512, Near: 3, NearCosine: 0.5,
	}
}

func (e Embedding) verify(bad func(field string, value any, write string), within func(field string, v, lo, hi int)) {
	if !slices.Contains([]string{"hash", "triplet", "composed"}, e.Way) {
		bad("embedding.way", e.Way, "hash, triplet or composed")
	}
	if e.BaseURL != "" {
		if u, err := url.Parse(e.BaseURL); err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
			bad("embedding.base_url", redacted(e.BaseURL), "a URL like http://127.0.0.1:11434/v1, without a key in it")
		}
		if e.Model == "" {
			bad("embedding.model", "", "the model's name as the server at embedding.base_url has it")
		}
	} else if e.Way != "hash" {
		bad("embedding.base_url", "", "the URL of the embeddings server, or embedding.way: hash")
	}
	within("embedding.dimensions", e.Dimensions, 0, 65536)
	if e.Timeout <= 0 {
		bad("embedding.timeout", e.Timeout, "a duration above zero, for instance 30s")
	}
	if e.QuestionTime <= 0 {
		bad("embedding.question_timeout", e.QuestionTime, "a duration above zero, for instance 2s")
	}
	within("embedding.retries", e.Retries, 0, 10)
	within("embedding.calls_per_minute", e.CallsPerMinute, 1, 1_000_000)
	within("embedding.batch", e.Batch, 1, 10_000)
	if !slices.Contains([]string{"on", "off"}, e.Lazy) {
		bad("embedding.lazy", e.Lazy, "on or off")
	}
	within("embedding.memory_mb", e.MemoryMB, 1, 1_000_000)
	within("embedding.near", e.Near, 0, 100)
	if !(e.NearCosine >= 0 && e.NearCosine <= 1) {
		bad("embedding.near_cosine", e.NearCosine, "a number from 0 to 1")
	}
	if strings.ContainsAny(e.Predicate, "<> \t\n") {
		bad("embedding.predicate", e.Predicate, "a predicate's name, such as embedding")
	}
	if !(e.Price >= 0 && e.Price <= 1e6) {
		bad("embedding.price", e.Price, "what a million tokens cost, from 0 on")
	}
}
