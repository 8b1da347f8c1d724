package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/app"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine"
	"github.com/evorag/dgraph-evorag/sidecar/internal/engine/enginetest"
	"github.com/evorag/dgraph-evorag/sidecar/internal/load"
)

func TestAGraphLoadedOfflineIsTheOneLoadedLive(t *testing.T) {
	bin, dir := enginetest.Bin(t), t.TempDir()
	file := filepath.Join(dir, "graph.tsv")
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "Film %d\tdirected by\tPerson %d\nPerson %d\tknows\tPerson %d\n", i, i%50, i%50, i%7)
	}
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	opts := load.Options{Files: []string{file}, Now: time.Now}
	e := app.EngineOptions{Bin: bin, DataDir: filepath.Join(dir, "data")}
	offline, err := app.LoadOffline(t.Context(), e, opts, nil)
	require.NoError(t, err)
	require.Equal(t, 550, offline.Entities.New)
	_, err = app.LoadOffline(t.Context(), e, opts, nil)
	require.ErrorIs(t, err, engine.ErrNotEmpty)

	eng := enginetest.Start(t, engine.Options{Bin: bin, DataDir: e.DataDir})
	client, err := app.Dial(t.Context(), settings(eng.GRPCAddr()))
	require.NoError(t, err)
	defer client.Close()
	migrator, err := app.Migrator(client)
	require.NoError(t, err)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
	again, err := load.Run(t.Context(), client, opts, nil)
	require.NoError(t, err)
	require.Equal(t, load.Count{Existing: offline.Entities.New}, again.Entities)
	require.Equal(t, load.Count{Existing: offline.Edges.New}, again.Edges)
	require.JSONEq(t, `{"q":[{"directed_by":[{"name":"Person 7","knows":[{"name":"Person 0"},{"name":"Person 1"},{"name":"Person 2"},{"name":"Person 3"},{"name":"Person 4"},{"name":"Person 5"},{"name":"Person 6"}]}]}]}`,
		string(eng.Query(t, `{ q(func: eq(name, "Film 7")) { directed_by { name knows (orderasc: name) { name } } } }`, nil)))

	// A new node gets a uid of its own.
	fresh := eng.Mutate(t, `_:new <name> "somebody new" .`)["new"]
	require.JSONEq(t, `{"q":[{"name":"somebody new"}]}`, string(eng.Query(t, "{ q(func: uid("+fresh+")) { name } }", nil)))
}
