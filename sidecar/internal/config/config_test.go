package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func env(pairs map[string]string) func(string) string {
	return func(k string) string { return pairs[k] }
}

func TestDefaultsAreValid(t *testing.T) {
	c, err := config.Load(config.Sources{})
	require.NoError(t, err)
	require.Equal(t, config.Default(), c)
}

func TestFlagsWinOverVariablesOverFileOverDefaults(t *testing.T) {
	file := write(t, "c.yaml", "dgraph: file:9080\nhttp_addr: file:1\ngrpc_addr: file:2\nbudget:\n  time: 7s\n  edges: 5\naccess:\n  admin_networks: [10.0.0.0/8]\n")
	c, err := config.Load(config.Sources{
		File:  file,
		Env:   env(map[string]string{"DGRAPH_EVORAG_HTTP_ADDR": "env:1", "DGRAPH_EVORAG_GRPC_ADDR": "env:2", "DGRAPH_EVORAG_NAMES": "name, label", "DGRAPH_EVORAG_RANKING_ALPHA": "0.25"}),
		Flags: map[string]string{"grpc_addr": "flag:2", "log.level": "debug"},
	})
	require.NoError(t, err)
	require.Equal(t, "file:9080", c.Dgraph)
	require.Equal(t, "env:1", c.HTTPAddr)
	require.Equal(t, "flag:2", c.GRPCAddr)
	require.Equal(t, []string{"name", "label"}, c.Names)
	require.Equal(t, 0.25, c.Ranking.Alpha)
	require.Equal(t, config.Budget{Edges: 5, Steps: 2_000_000, Time: 7 * time.Second}, c.Budget)
	require.Equal(t, []string{"10.0.0.0/8"}, c.Access.AdminNetworks)
	require.Equal(t, "debug", c.Log.Level)
	require.Equal(t, 10, c.Ranking.Paths, "what nobody sets keeps its default")
}

func TestBadSettingsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		env   map[string]string
		flags map[string]string
		want  string
	}{
		"an unknown field in the file": {file: "dgraff: x:1\n", want: `c.yaml:1:1: unknown field "dgraff"`},
		"an unknown nested field":      {file: "log:\n  levl: info\n", want: `c.yaml:2:3: unknown field "levl"`},
		"a field twice":                {file: "names: [a]\nnames: [b]\n", want: `c.yaml:2:1: mapping key "names" already defined`},
		"text for a number":            {file: "ranking:\n  hops: two\n", want: `c.yaml:2:9: `},
		"text that is no YAML":         {file: "log: {level: [\n", want: `c.yaml:1:`},
		"a variable that is no number": {env: map[string]string{"DGRAPH_EVORAG_BUDGET_EDGES": "many"}, want: `DGRAPH_EVORAG_BUDGET_EDGES="many": write a whole number`},
		"a flag that is no duration":   {flags: map[string]string{"budget.time": "5"}, want: `budget.time="5": write a duration, for instance 5s`},
		"a flag for no field":          {flags: map[string]string{"nope": "5"}, want: `nope is not a setting`},
		"too many hops":                {flags: map[string]string{"ranking.hops": "7"}, want: `ranking.hops is "7"; write a number from 1 to 6`},
		"alpha that is not a number":   {flags: map[string]string{"ranking.alpha": "NaN"}, want: `ranking.alpha is "NaN"; write a number from 0.1 to 0.9`},
		"a margin below none":          {flags: map[string]string{"ranking.margin": "-0.1"}, want: `ranking.margin is "-0.1"; write a number from 0 to 10`},
		"an address of another kind":   {flags: map[string]string{"dgraph": "http://localhost:8080"}, want: `dgraph is "http://localhost:8080"; write host:port or dgraph://host:port`},
		"a missing key file":           {flags: map[string]string{"retrieval_key_file": "/nope"}, want: `retrieval_key_file: open /nope`},
		"a port out of range":          {flags: map[string]string{"http_addr": "localhost:70000"}, want: `http_addr is "localhost:70000"; write host:port`},
		"one port for both fronts":     {flags: map[string]string{"http_addr": "a:1", "grpc_addr": "a:1"}, want: `grpc_addr is "a:1"; write a port that http_addr doesn't use`},
		"a network that is none":       {flags: map[string]string{"access.admin_networks": "everyone"}, want: `access.admin_networks has "everyone"; write a network like 10.0.0.0/8`},
		"an HTTP address of no scheme": {flags: map[string]string{"dgraph_http": "localhost:8080"}, want: `dgraph_http is "localhost:8080"; write a URL like http://host:8080`},
		"a password file without user": {flags: map[string]string{"login.password_file": "x"}, want: `login.user is ""; write the user`},
		"a model's key in its URL":     {flags: map[string]string{"llm.base_url": "http://me:secret@h/v1", "llm.model": "m"}, want: `llm.base_url is "http://…@h/v1"; write a URL like http://127.0.0.1:11434/v1`},
		"a server without a model":     {flags: map[string]string{"llm.base_url": "http://h/v1"}, want: `llm.model is ""; write the model's name`},
		"a missing key of a model":     {flags: map[string]string{"llm.api_key_file": "/nope"}, want: `llm.api_key_file: open /nope`},
		"a format nobody knows":        {flags: map[string]string{"llm.response_format": "xml"}, want: `llm.response_format is "xml"; write json_schema, json_object or text`},
		"a way nobody knows":           {flags: map[string]string{"embedding.way": "bm25"}, want: `embedding.way is "bm25"; write hash, triplet or composed`},
		"a way that needs a model":     {flags: map[string]string{"embedding.way": "composed"}, want: `embedding.base_url is ""; write the URL of the embeddings server, or embedding.way: hash`},
		"embeddings without a model":   {flags: map[string]string{"embedding.base_url": "http://h/v1"}, want: `embedding.model is ""; write the model's name`},
		"a key in embeddings' URL":     {flags: map[string]string{"embedding.base_url": "http://me:secret@h/v1", "embedding.model": "m"}, want: `embedding.base_url is "http://…@h/v1"; write a URL like`},
		"a missing key of embeddings":  {flags: map[string]string{"embedding.api_key_file": "/nope"}, want: `embedding.api_key_file: open /nope`},
		"a cosine that is no number":   {flags: map[string]string{"embedding.near_cosine": "NaN"}, want: `embedding.near_cosine is "NaN"; write a number from 0 to 1`},
		"an empty batch":               {flags: map[string]string{"embedding.batch": "0"}, want: `embedding.batch is "0"; write a number from 1 to 10000`},
		"a question without time":      {flags: map[string]string{"embedding.question_timeout": "0s"}, want: `embedding.question_timeout is "0s"; write a duration above zero`},
		"a judge without a model":      {flags: map[string]string{"judge.share": "0.1"}, want: `judge.share is "0.1"; write 0, or set llm.base_url and llm.model`},
		"a missing token file":         {flags: map[string]string{"access.token_file": "/nope"}, want: `access.token_file: open /nope`},
		"a token that is guessed":      {env: map[string]string{"DGRAPH_EVORAG_ACCESS_TOKEN": "short"}, want: `the token of access.token_file has 5 letters; write at least 16`},
		"a password in a bad address":  {flags: map[string]string{"dgraph": "dgraph://u:secret@:1"}, want: `dgraph is "dgraph://…@:1"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := config.Sources{Env: env(c.env), Flags: c.flags}
			if c.file != "" {
				s.File = write(t, "c.yaml", c.file)
			}
			_, err := config.Load(s)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestAMissingFileIsAnError(t *testing.T) {
	_, err := config.Load(config.Sources{File: "/does/not/exist.yaml"})
	require.ErrorContains(t, err, "settings file: open /does/not/exist.yaml")
}

func TestPasswordsComeFromFileOrEnvironmentAndAreNeverPrinted(t *testing.T) {
	c, err := config.Load(config.Sources{
		Env: env(map[string]string{"DGRAPH_EVORAG_LOGIN_USER": "groot", "DGRAPH_EVORAG_LOGIN_PASSWORD": "hush"}),
	})
	require.NoError(t, err)
	require.Equal(t, "hush", c.Login.Password)

	file := write(t, "pw", "from file\n")
	c, err = config.Load(config.Sources{Flags: map[string]string{"login.user": "groot", "login.password_file": file, "dgraph": "dgraph://u:hush@h:9080"}})
	require.NoError(t, err)
	require.Equal(t, "from file", c.Login.Password)

	c, err = config.Load(config.Sources{Env: env(map[string]string{"DGRAPH_EVORAG_ACCESS_TOKEN": "from the environment"})})
	require.NoError(t, err)
	require.Equal(t, "from the environment", c.Access.Token)
	c, err = config.Load(config.Sources{
		Flags: map[string]string{"access.token_file": write(t, "token", "hush hush hush hush\n"), "login.user": "groot", "login.password_file": file, "dgraph": "dgraph://u:hush@h:9080"},
		Env:   env(map[string]string{"DGRAPH_EVORAG_ACCESS_TOKEN": "from the environment"}),
	})
	require.NoError(t, err)
	require.Equal(t, "hush hush hush hush", c.Access.Token, "the file is the later")

	text, err := c.YAML()
	require.NoError(t, err)
	require.NotContains(t, string(text), "from file")
	require.NotContains(t, string(text), "hush")
}

func TestTheKeyOfRetrievalIDsComesFromAFile(t *testing.T) {
	file := write(t, "key", "0123456789abcdef\n")
	c, err := config.Load(config.Sources{Flags: map[string]string{"retrieval_key_file": file}})
	require.NoError(t, err)
	require.Equal(t, "0123456789abcdef", string(c.RetrievalKey))
}

func TestThePrintedConfigurationReadsBack(t *testing.T) {
	text, err := config.Default().YAML()
	require.NoError(t, err)
	c, err := config.Load(config.Sources{File: write(t, "c.yaml", string(text))})
	require.NoError(t, err)
	require.Equal(t, config.Default(), c)
}

func TestTheAlphasHTTPAddressFollowsItsGRPCPort(t *testing.T) {
	for _, c := range []struct{ name, dgraph, http, want, err string }{
		{name: "the usual ports", dgraph: "localhost:9080", want: "http://localhost:8080"},
		{name: "no port", dgraph: "dgraph://db", want: "http://db:8080"},
		{name: "shifted ports", dgraph: "dgraph://db:19080?sslmode=disable", want: "http://db:18080"},
		{name: "an IPv6 host", dgraph: "[::1]:9080", want: "http://[::1]:8080"},
		{name: "a given address", dgraph: "db:443", http: "https://db/", want: "https://db/"},
		{name: "a port below 1000", dgraph: "db:443", err: `dgraph_http can't be told from dgraph "db:443"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := config.Config{Dgraph: c.dgraph, DgraphHTTP: c.http}.AlphaURL()
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, u.String())
		})
	}
}

func TestTheModelsKeyComesFromFileOrEnvironmentAndIsNeverPrinted(t *testing.T) {
	c, err := config.Load(config.Sources{Env: env(map[string]string{"DGRAPH_EVORAG_LLM_API_KEY": "sk-env", "DGRAPH_EVORAG_LLM_BASE_URL": "http://h/v1", "DGRAPH_EVORAG_LLM_MODEL": "m"})})
	require.NoError(t, err)
	require.Equal(t, "sk-env", c.LLM.APIKey)
	c, err = config.Load(config.Sources{Flags: map[string]string{"llm.api_key_file": write(t, "key", "sk-file\n")}})
	require.NoError(t, err)
	require.Equal(t, "sk-file", c.LLM.APIKey)
	text, err := c.YAML()
	require.NoError(t, err)
	require.NotContains(t, string(text), "sk-file")

	c, err = config.Load(config.Sources{Env: env(map[string]string{"DGRAPH_EVORAG_EMBEDDING_API_KEY": "sk-env"})})
	require.NoError(t, err)
	require.Equal(t, "sk-env", c.Embedding.APIKey)
	require.Empty(t, c.LLM.APIKey)
	c, err = config.Load(config.Sources{Flags: map[string]string{"embedding.api_key_file": write(t, "key", "sk-file\n")}})
	require.NoError(t, err)
	require.Equal(t, "sk-file", c.Embedding.APIKey)
	text, err = c.YAML()
	require.NoError(t, err)
	require.NotContains(t, string(text), "sk-file")
}
