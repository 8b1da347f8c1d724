package check

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// compose loads a file as docker compose does, with all profiles.
func compose(t *testing.T, name string, env ...string) *types.Project {
	o, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker", name)}, cli.WithEnv(env), cli.WithProfiles([]string{"*"}), cli.WithResolvedPaths(true))
	require.NoError(t, err)
	p, err := o.LoadProject(t.Context())
	require.NoError(t, err)
	return p
}

func TestComposeFiles(t *testing.T) {
	for name, services := range map[string][]string{
		"compose.yaml":            {"alpha", "grafana", "ollama", "prometheus", "ratel", "sidecar", "zero"},
		"compose.production.yaml": {"alpha", "sidecar", "zero"},
	} {
		t.Run(name, func(t *testing.T) {
			p := compose(t, name, "EVORAG_VERSION=v0.1.0")
			names := p.ServiceNames()
			slices.Sort(names)
			require.Equal(t, services, names)
			targets := map[string]bool{}
			for _, s := range stages(t) {
				targets[s.Name] = true
			}
			for _, s := range p.Services {
				if s.Build != nil {
					require.True(t, targets[s.Build.Target], "%s is built from a stage that isn't there: %s", s.Name, s.Build.Target)
					require.Contains(t, s.CapDrop, "ALL", s.Name)
					require.Contains(t, s.SecurityOpt, "no-new-privileges:true", s.Name)
				} else {
					require.Regexp(t, exact, s.Image, s.Name)
				}
				for _, v := range s.Volumes {
					if v.Type == types.VolumeTypeBind {
						require.FileExists(t, exists(v.Source), "%s mounts it", s.Name)
					}
				}
			}
		})
	}
}

// exists is the path, or a file in it where it is a folder.
func exists(path string) string {
	if found, err := filepath.Glob(path + "/*/*"); err == nil && len(found) > 0 {
		return found[0]
	}
	return path
}

func TestTheFirstComposeFileIsOpenOnThisMachineOnly(t *testing.T) {
	for _, s := range compose(t, "compose.yaml").Services {
		for _, p := range s.Ports {
			require.Equal(t, "127.0.0.1", p.HostIP, "%s publishes %s", s.Name, p.Published)
		}
	}
}

func TestAModelServerIsUsedOnceAModelIsNamed(t *testing.T) {
	base := func(env ...string) string {
		return *compose(t, "compose.yaml", env...).Services["sidecar"].Environment["DGRAPH_EVORAG_LLM_BASE_URL"]
	}
	require.Empty(t, base())
	require.Equal(t, "http://ollama:11434/v1", base("EVORAG_LLM_MODEL=qwen3:4b"))
}

func TestProductionTakesSecretsFromFilesAndOpensTheSidecarOnly(t *testing.T) {
	p := compose(t, "compose.production.yaml", "EVORAG_VERSION=v0.1.0")
	for _, s := range p.Services {
		require.Equal(t, s.Name == "sidecar", len(s.Ports) > 0, "%s", s.Name)
		require.True(t, s.ReadOnly, s.Name)
		command := strings.Join(s.Command, " ")
		mounted := map[string]bool{}
		for _, secret := range s.Secrets {
			require.NotEmpty(t, p.Secrets[secret.Source].File, "%s is a file", secret.Source)
			mounted["/run/secrets/"+secret.Source] = true
		}
		for _, word := range strings.FieldsFunc(command+" "+values(s), func(r rune) bool { return strings.ContainsRune(` ="';`, r) }) {
			if strings.HasPrefix(word, "/run/secrets/") {
				require.True(t, mounted[word], "%s reads %s, which is not among its secrets", s.Name, word)
			}
		}
		for k, v := range s.Environment {
			for _, secret := range []string{"PASSWORD", "TOKEN", "KEY", "SECRET"} {
				if strings.Contains(k, secret) {
					require.True(t, strings.HasPrefix(*v, "/run/secrets/"), "%s holds a secret and not its file", k)
				}
			}
		}
	}
	require.True(t, p.Networks["cluster"].Internal)
	require.NotContains(t, p.Services["alpha"].Networks, "callers")
	require.Contains(t, strings.Join(p.Services["alpha"].Command, " "), "--acl")
}

func values(s types.ServiceConfig) string {
	var out []string
	for _, v := range s.Environment {
		if v != nil {
			out = append(out, *v)
		}
	}
	return strings.Join(out, " ")
}
