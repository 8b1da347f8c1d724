package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/doctor"
)

func (c *command) doctorCommand() *cobra.Command {
	s := &settings{}
	var output string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong with settings and cluster, and say how to mend it", Args: c.none,
		Long: "doctor looks at what serve would use: settings, the cluster's reach, version, health, clock, permissions\n" +
			"and schema, model servers, secrets, and who may do what. It writes nothing. It exits with 1 where\n" +
			"something doesn't work; warnings don't count.",
		Example: "  dgraph-evorag doctor --config /etc/dgraph-evorag.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usageError{fmt.Errorf("--output is %q; write table or json", output), cmd.CommandPath()}
			}
			findings := []doctor.Finding{}
			cfg, err := s.load(c.Env)
			if err == nil {
				findings, err = app.Examine(cmd.Context(), cfg)
			}
			if cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
			if err != nil {
				findings = append(findings, doctor.Finding{Check: "settings", Verdict: doctor.Bad, Text: err.Error(), Mend: `mend that setting; "dgraph-evorag config" prints all of them`})
			}
			if output == "json" {
				raw, err := json.Marshal(findings)
				if err != nil {
					return err
				}
				if err := c.printJSON(raw); err != nil {
					return err
				}
			} else {
				printFindings(c.Out, findings)
			}
			if doctor.Worst(findings) == doctor.Bad {
				return errors.New("something doesn't work; see above how to mend it")
			}
			return nil
		},
	}
	s.addTo(cmd, "dgraph", "dgraph_http", "http_addr", "grpc_addr", "login.user", "login.password_file", "llm.base_url", "llm.model")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

func printFindings(out io.Writer, findings []doctor.Finding) {
	for _, f := range findings {
		fmt.Fprintf(out, "%-8s %-12s %s\n", f.Verdict, f.Check, printable(f.Text))
		if f.Mend != "" {
			fmt.Fprintf(out, "%21s → %s\n", "", printable(f.Mend))
		}
	}
}
