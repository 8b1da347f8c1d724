package migrations

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/schema"
)

// definition matches one predicate's line or one type's body, and captures what it defines.
var definition = regexp.MustCompile(`(?m)^(?:type (\S+) \{[^}]*\}|(\S+): .*\.)$`)

func definitions(text string) map[string]string {
	out := map[string]string{}
	for _, m := range definition.FindAllStringSubmatch(text, -1) {
		out[m[1]+m[2]] = strings.Join(strings.Fields(m[0]), " ")
	}
	return out
}

func TestMigrationsLeadToTodaysSchema(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	got := map[string]string{}
	for _, m := range all {
		for name, def := range definitions(m.Up) {
			got[name] = def
		}
	}
	require.Equal(t, definitions(schema.Text), got)
}

func TestEveryMigrationTakesBackWhatItDefines(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, m := range all {
		var dropped []string
		for _, d := range m.Down {
			dropped = append(dropped, d.Name)
		}
		for name := range definitions(m.Up) {
			if !known[name] {
				require.Contains(t, dropped, name, "migration %d", m.Version)
			}
			known[name] = true
		}
	}
}

func TestReadRefuses(t *testing.T) {
	up, down := &fstest.MapFile{Data: []byte("evorag.a: int .\n")}, &fstest.MapFile{Data: []byte("predicate evorag.a\n")}
	for name, c := range map[string]struct {
		dir  fstest.MapFS
		want string
	}{
		"a gap in the numbers":          {fstest.MapFS{"0002_a.up.schema": up, "0002_a.down.drop": down}, "0001_what"},
		"a step without its way back":   {fstest.MapFS{"0001_a.up.schema": up}, "no way back"},
		"a step without a name":         {fstest.MapFS{"0001.up.schema": up, "0001.down.drop": down}, "0001_what"},
		"a drop of the user's":          {fstest.MapFS{"0001_a.up.schema": up, "0001_a.down.drop": {Data: []byte("predicate name\n")}}, "predicate evorag.x"},
		"a drop of something else":      {fstest.MapFS{"0001_a.up.schema": up, "0001_a.down.drop": {Data: []byte("node evorag.x\n")}}, "predicate evorag.x"},
		"a drop with too many words":    {fstest.MapFS{"0001_a.up.schema": up, "0001_a.down.drop": {Data: []byte("type evorag.x y\n")}}, "predicate evorag.x"},
		"a number that is not a number": {fstest.MapFS{"first_a.up.schema": up, "first_a.down.drop": down}, "0001_what"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.dir)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestChecksumCoversBothDirections(t *testing.T) {
	sums := map[string]bool{}
	for i, down := range []string{"predicate evorag.a\n", "predicate evorag.a\n\n"} {
		all, err := read(fstest.MapFS{"0001_a.up.schema": {Data: []byte("evorag.a: int .\n")}, "0001_a.down.drop": {Data: []byte(down)}})
		require.NoError(t, err, fmt.Sprint(i))
		sums[all[0].Checksum] = true
	}
	require.Len(t, sums, 2)
}
