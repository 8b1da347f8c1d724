package doctor_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/doctor"
)

// sound are the facts of an installation that lacks nothing.
func sound(t *testing.T) doctor.Facts {
	schema, err := graph.ParseSchema([]byte(`{"schema":[
		{"predicate":"name","type":"string","index":true,"tokenizer":["exact","term","evorag_entity"]},
		{"predicate":"directed_by","type":"uid","list":true}]}`))
	require.NoError(t, err)
	return doctor.Facts{
		GRPC: "db:9080", Version: "v25.4.0", HTTP: "http://db:8080", HasDate: true,
		User: "groot", ACL: true, Groups: []string{"guardians"},
		Schema: schema, Names: []string{"name", "title"},
		Models: []doctor.Model{{Name: "m", URL: "http://llm/v1"}},
		Listen: "0.0.0.0:8180", AdminNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		RetrievalKey: true, WebhookSecret: true, AdminToken: true, Running: true,
		Files: []doctor.File{{Setting: "login.password_file", Path: "/run/secrets/password", Mode: 0o400}},
	}
}

func TestASoundInstallationHasNothingToMend(t *testing.T) {
	findings := doctor.Examine(sound(t))
	for _, f := range findings {
		require.Equal(t, doctor.Good, f.Verdict, f.Text)
		require.Empty(t, f.Mend, f.Text)
	}
	require.Equal(t, doctor.Good, doctor.Worst(findings))
}

func TestEachFaultIsNamedWithWhatMendsIt(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*doctor.Facts)
		verdict    doctor.Verdict
		text, mend string
	}{
		"no engine":              {func(f *doctor.Facts) { f.VersionErr = errors.New("no Dgraph answers at db:9080") }, doctor.Bad, "no Dgraph answers", "--dgraph host:port"},
		"no HTTP":                {func(f *doctor.Facts) { f.HTTPErr = errors.New("refused") }, doctor.Bad, "refused", "--dgraph-http"},
		"an old engine":          {func(f *doctor.Facts) { f.Version = "v23.1.0" }, doctor.Bad, "v23.1.0", "upgrade Dgraph"},
		"an engine to come":      {func(f *doctor.Facts) { f.Version = "v26.0.0" }, doctor.Warning, "v26.0.0", "newer dgraph-evorag"},
		"an engine of one's own": {func(f *doctor.Facts) { f.Version = "dev" }, doctor.Warning, "dev", "v25.4.0"},
		"a sick node":            {func(f *doctor.Facts) { f.Sick = []string{"alpha b:7080 is unhealthy"} }, doctor.Bad, "b:7080", "log"},
		"a clock a little off":   {func(f *doctor.Facts) { f.Skew = -10 * time.Second }, doctor.Warning, "differ by 10s", "NTP"},
		"a clock far off":        {func(f *doctor.Facts) { f.Skew = 10 * time.Minute }, doctor.Bad, "differ by 10m0s", "NTP"},
		"no user":                {func(f *doctor.Facts) { f.User, f.LoginErr = "", errors.New("no accessJwt available") }, doctor.Bad, "no accessJwt", "login.password_file"},
		"a wrong password":       {func(f *doctor.Facts) { f.LoginErr = errors.New("invalid username or password") }, doctor.Bad, "invalid username", "login.namespace"},
		"no guardian":            {func(f *doctor.Facts) { f.Groups = []string{"dev"} }, doctor.Bad, "groot in namespace 0 is not in the group guardians", "add it"},
		"open to everybody":      {func(f *doctor.Facts) { f.ACL = false }, doctor.Warning, "no access control", "--acl"},
		"migrations to come":     {func(f *doctor.Facts) { f.Pending = 2 }, doctor.Warning, "2 migrations", "migrate up"},
		"another's migrations":   {func(f *doctor.Facts) { f.MigrationsErr = errors.New("unknown migration 9") }, doctor.Bad, "unknown migration 9", "as new as"},
		"an empty graph":         {func(f *doctor.Facts) { delete(f.Schema.Predicates, "directed_by") }, doctor.Warning, "no edges", "dgraph-evorag load"},
		"no index on names": {func(f *doctor.Facts) {
			f.Schema.Predicates["name"] = graph.PredicateSchema{Name: "name", Type: "string"}
		}, doctor.Warning, "name has no index", "name: string @index(exact, term) ."},
		"no names at all":         {func(f *doctor.Facts) { f.Names = []string{"label"} }, doctor.Warning, "none of label", "set names"},
		"a model that is away":    {func(f *doctor.Facts) { f.Models[0].Err = errors.New("refused") }, doctor.Bad, "m at http://llm/v1: refused", "llm.base_url"},
		"no webhook secret":       {func(f *doctor.Facts) { f.WebhookSecret = false }, doctor.Warning, "ratings from other machines", "feedback.secret_file"},
		"everybody administrates": {func(f *doctor.Facts) { f.AdminNetworks = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")} }, doctor.Warning, "every address", "access.token_file"},
		"nobody afar administrates": {func(f *doctor.Facts) {
			f.AdminNetworks, f.AdminToken = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, false
		}, doctor.Warning, "this machine only", "access.token_file"},
		"no retrieval key": {func(f *doctor.Facts) { f.RetrievalKey = false }, doctor.Warning, "replicas", "retrieval_key_file"},
		"an open secret":   {func(f *doctor.Facts) { f.Files[0].Mode = 0o644 }, doctor.Warning, "login.password_file /run/secrets/password", "chmod 600 /run/secrets/password"},
		"a port in use":    {func(f *doctor.Facts) { f.Running, f.PortErr = false, errors.New("address already in use") }, doctor.Bad, "address already in use", "--http"},
	} {
		t.Run(name, func(t *testing.T) {
			f := sound(t)
			c.change(&f)
			findings := doctor.Examine(f)
			require.Equal(t, c.verdict, doctor.Worst(findings))
			found := false
			for _, one := range findings {
				found = found || one.Verdict == c.verdict && strings.Contains(one.Text, c.text) && strings.Contains(one.Mend, c.mend)
			}
			require.True(t, found, "%+v", findings)
		})
	}
}

func TestAnEngineThatIsAwayIsNotAskedFurther(t *testing.T) {
	f := doctor.Facts{VersionErr: errors.New("away"), HTTPErr: errors.New("away"), Listen: "127.0.0.1:8180"}
	for _, one := range doctor.Examine(f) {
		require.NotContains(t, []string{"version", "permissions", "schema", "graph", "names", "clock"}, one.Check)
	}
}
