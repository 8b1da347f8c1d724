package check

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"
)

// kustomization is what we use of one.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Resources  []string `json:"resources"`
	Images     []struct {
		Name   string `json:"name"`
		NewTag string `json:"newTag"`
	} `json:"images"`
}

func kustomized(t *testing.T) kustomization {
	b, err := os.ReadFile(filepath.Join(root, "docker/kubernetes/kustomization.yaml"))
	require.NoError(t, err)
	var k kustomization
	require.NoError(t, sigsyaml.UnmarshalStrict(b, &k))
	return k
}

// objects decodes every manifest strictly: unknown and doubled fields are errors.
func objects(t *testing.T) (out []runtime.Object) {
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	for _, name := range kustomized(t).Resources {
		b, err := os.ReadFile(filepath.Join(root, "docker/kubernetes", name))
		require.NoError(t, err)
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(b)))
		buffer := make([]byte, 1<<20)
		for {
			n, err := documents.Read(buffer)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			object, _, err := decoder.Decode(buffer[:n], nil, nil)
			require.NoError(t, err, name)
			out = append(out, object)
		}
	}
	return out
}

// workload is what runs pods.
type workload struct {
	name     string
	replicas int32
	selector map[string]string
	pod      corev1.PodTemplateSpec
}

func workloads(t *testing.T) (out []workload) {
	for _, o := range objects(t) {
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			out = append(out, workload{o.Name, *o.Spec.Replicas, o.Spec.Selector.MatchLabels, o.Spec.Template})
		case *appsv1.Deployment:
			out = append(out, workload{o.Name, *o.Spec.Replicas, o.Spec.Selector.MatchLabels, o.Spec.Template})
		}
	}
	require.Len(t, out, 3)
	return out
}

func TestEveryManifestIsInTheKustomization(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docker/kubernetes/*.yaml"))
	require.NoError(t, err)
	for _, f := range files {
		if name := filepath.Base(f); name != "kustomization.yaml" {
			require.Contains(t, kustomized(t).Resources, name)
		}
	}
}

func TestPodsAreLockedDownAndProbed(t *testing.T) {
	pinned := map[string]string{}
	for _, i := range kustomized(t).Images {
		pinned[i.Name] = i.NewTag
	}
	for _, w := range workloads(t) {
		t.Run(w.name, func(t *testing.T) {
			require.Equal(t, w.selector, w.pod.Labels)
			require.Greater(t, w.replicas, int32(1))
			require.True(t, *w.pod.Spec.SecurityContext.RunAsNonRoot)
			require.Equal(t, int64(65532), *w.pod.Spec.SecurityContext.RunAsUser)
			require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, w.pod.Spec.SecurityContext.SeccompProfile.Type)
			require.False(t, *w.pod.Spec.AutomountServiceAccountToken)
			volumes := map[string]bool{"data": true} // of the claim
			for _, v := range w.pod.Spec.Volumes {
				volumes[v.Name] = true
			}
			for _, c := range w.pod.Spec.Containers {
				require.NotEmpty(t, pinned[c.Image], "the kustomization gives %s a tag", c.Image)
				require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
				require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
				require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
				require.NotNil(t, c.StartupProbe)
				require.NotNil(t, c.ReadinessProbe)
				require.NotNil(t, c.LivenessProbe)
				require.False(t, c.Resources.Requests.Memory().IsZero())
				require.False(t, c.Resources.Limits.Memory().IsZero())
				for _, m := range c.VolumeMounts {
					require.True(t, volumes[m.Name], "%s is no volume", m.Name)
				}
			}
		})
	}
}

func TestServicesAndBudgetsFindTheirPods(t *testing.T) {
	labels := map[string]workload{}
	for _, w := range workloads(t) {
		labels[w.pod.Labels["app"]] = w
	}
	found := 0
	for _, o := range objects(t) {
		switch o := o.(type) {
		case *corev1.Service:
			w, ok := labels[o.Spec.Selector["app"]]
			require.True(t, ok, o.Name)
			for _, p := range o.Spec.Ports {
				require.True(t, slices.ContainsFunc(w.pod.Spec.Containers[0].Ports, func(c corev1.ContainerPort) bool { return c.ContainerPort == p.Port && c.Name == p.Name }), "%s has no port %d", w.name, p.Port)
			}
			found++
		case *policyv1.PodDisruptionBudget:
			require.Contains(t, labels, o.Spec.Selector.MatchLabels["app"])
			found++
		}
	}
	require.Equal(t, 6, found)
}

func TestSecretsOfThePodsAreThoseThatTheScriptMakes(t *testing.T) {
	made := map[string]bool{}
	for name := range compose(t, "compose.production.yaml", "EVORAG_VERSION=v0.1.0").Secrets {
		made["/run/secrets/"+name] = true
	}
	var text strings.Builder
	for _, w := range workloads(t) {
		for _, c := range w.pod.Spec.Containers {
			text.WriteString(strings.Join(append(c.Command, c.Args...), " ") + " ")
		}
	}
	for _, o := range objects(t) {
		if c, ok := o.(*corev1.ConfigMap); ok {
			text.WriteString(c.Data["config.yaml"])
		}
	}
	seen := 0
	for _, word := range strings.FieldsFunc(text.String(), func(r rune) bool { return strings.ContainsRune(" =\"';,{}\n", r) }) {
		if strings.HasPrefix(word, "/run/secrets/") {
			require.True(t, made[word], word)
			seen++
		}
	}
	require.Greater(t, seen, 10)
}
