package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/scale"
)

func (c *command) generateCommand() *cobra.Command {
	var o scale.Options
	var format string
	cmd := &cobra.Command{
		Use: "generate", Short: "Write a made-up graph of any size, to measure with", Args: c.none,
		Long: "generate writes a graph whose degrees follow a power law. The same options always give the\n" +
			"same graph: tsv for dgraph-evorag load, rdf and schema for dgraph bulk and dgraph live.",
		Example: "  dgraph-evorag generate --edges 1000000 --nodes 200000 > graph.tsv",
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := scale.New(o)
			if err != nil {
				return usageError{err, cmd.CommandPath()}
			}
			write := map[string]func(io.Writer) error{"tsv": g.WriteTSV, "rdf": g.WriteRDF, "schema": g.WriteSchema}[format]
			if write == nil {
				return usageError{fmt.Errorf("--format is %q; write tsv, rdf or schema", format), cmd.CommandPath()}
			}
			return write(c.Out)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Nodes, "nodes", 20_000, "`number` of nodes")
	f.IntVar(&o.Edges, "edges", 100_000, "`number` of edges")
	f.IntVar(&o.Predicates, "predicates", 100, "`number` of predicates")
	f.Float64Var(&o.Scored, "scored", 0, "`share` of edges with a learned score, 0 to 1 (rdf only)")
	f.IntVar(&o.Hub, "hub", 0, "`number` of edges that lead to one node, besides those that chance brings")
	f.Uint64Var(&o.Seed, "seed", 1, "`number` that chance begins with")
	f.StringVar(&format, "format", "tsv", "tsv, rdf or schema")
	return cmd
}
