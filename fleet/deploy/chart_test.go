// Package deploy_test checks the files for those who run a fleet. It is apart from the commands, so that the programs
// that their tests start are not larger than they have to be.
package deploy_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/haftdev/haft/fleet/internal/command"
)

// render does what 'helm template' does with the parts of its language that the chart uses: the functions of sprig, and
// include, required and toYaml.
func render(t *testing.T, set map[string]any) (string, error) {
	t.Helper()
	var values map[string]any
	raw, err := os.ReadFile(filepath.Join("chart", "values.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(raw, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range set {
		at, parts := values, strings.Split(name, ".")
		for _, part := range parts[:len(parts)-1] {
			at = at[part].(map[string]any)
		}
		if _, ok := at[parts[len(parts)-1]]; !ok {
			t.Fatalf("the chart has no value %s", name)
		}
		at[parts[len(parts)-1]] = value
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(sprig.TxtFuncMap()).Funcs(template.FuncMap{
		"toYaml": func(v any) (string, error) {
			raw, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(raw), "\n"), err
		},
		"required": func(why string, v any) (any, error) {
			if v == nil || v == "" {
				return nil, errors.New(why)
			}
			return v, nil
		},
		"include": func(name string, data any) (string, error) {
			var text bytes.Buffer
			err := all.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
	})
	files, err := filepath.Glob(filepath.Join("chart", "templates", "*"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err == nil {
			_, err = all.New(filepath.Base(file)).Parse(string(raw))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, ".yaml") {
			out.WriteString("\n---\n")
			if err := all.ExecuteTemplate(&out, filepath.Base(file), map[string]any{"Values": values, "Release": map[string]any{"Name": "haft"}}); err != nil {
				return "", err
			}
		}
	}
	return out.String(), nil
}

// manifests are what a chart makes.
type manifests struct {
	objects  map[string]any // by kind and name
	pods     map[string]core.PodTemplateSpec
	services map[string]core.Service
	claims   map[string][]string // volumes that a StatefulSet makes, by the name of its pods
}

// scaled is what is used of KEDA's ScaledObject.
type scaled struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		ScaleTargetRef struct{ Name string } `json:"scaleTargetRef"`
		scaling
	} `json:"spec"`
}

// scaledJob is what is used of KEDA's ScaledJob.
type scaledJob struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		JobTargetRef batch.JobSpec `json:"jobTargetRef"`
		scaling
	} `json:"spec"`
}

// scaling is by what, and how far.
type scaling struct {
	MinReplicaCount int `json:"minReplicaCount"`
	MaxReplicaCount int `json:"maxReplicaCount"`
	Triggers        []struct {
		Type     string            `json:"type"`
		Metadata map[string]string `json:"metadata"`
	} `json:"triggers"`
}

// decode reads manifests into the types of Kubernetes, which must have every field.
func decode(t *testing.T, text string) *manifests {
	t.Helper()
	m := &manifests{map[string]any{}, map[string]core.PodTemplateSpec{}, map[string]core.Service{}, map[string][]string{}}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var head struct {
			meta.TypeMeta   `json:",inline"`
			meta.ObjectMeta `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if head.Kind == "" {
			continue
		}
		object, ok := map[string]any{
			"v1 Service": new(core.Service), "v1 ConfigMap": new(core.ConfigMap), "apps/v1 StatefulSet": new(apps.StatefulSet), "apps/v1 Deployment": new(apps.Deployment),
			"policy/v1 PodDisruptionBudget": new(policy.PodDisruptionBudget), "autoscaling/v2 HorizontalPodAutoscaler": new(autoscaling.HorizontalPodAutoscaler),
			"networking.k8s.io/v1 NetworkPolicy": new(networking.NetworkPolicy), "keda.sh/v1alpha1 ScaledObject": new(scaled), "keda.sh/v1alpha1 ScaledJob": new(scaledJob),
		}[head.APIVersion+" "+head.Kind]
		if !ok {
			t.Fatalf("there is no kind %s %s", head.APIVersion, head.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Fatalf("%s %s: %v", head.Kind, head.Name, err)
		}
		name := head.Kind + " " + head.Name
		if m.objects[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		m.objects[name] = object
		switch o := object.(type) {
		case *apps.StatefulSet:
			m.pods[o.Name] = o.Spec.Template
			for _, c := range o.Spec.VolumeClaimTemplates {
				m.claims[o.Name] = append(m.claims[o.Name], c.Name)
			}
		case *apps.Deployment:
			m.pods[o.Name] = o.Spec.Template
		case *scaledJob:
			m.pods[o.Name] = o.Spec.JobTargetRef.Template
		case *core.Service:
			m.services[o.Name] = *o
		}
	}
	return m
}

// check compares what parts of the manifests say of each other.
func (m *manifests) check(t *testing.T) {
	t.Helper()
	selects := func(what string, labels map[string]string) {
		t.Helper()
		for _, pod := range m.pods {
			if matches(labels, pod.Labels) {
				return
			}
		}
		t.Errorf("%s selects no pod: %v", what, labels)
	}
	for name, object := range m.objects {
		switch o := object.(type) {
		case *core.Service:
			for _, pod := range m.pods {
				for _, p := range o.Spec.Ports {
					if matches(o.Spec.Selector, pod.Labels) && !hasPort(pod, p.Port) {
						t.Errorf("%s has the port %d, which its pod has not", name, p.Port)
					}
				}
			}
			selects(name, o.Spec.Selector)
		case *apps.StatefulSet:
			if s, ok := m.services[o.Spec.ServiceName]; !ok || !matches(s.Spec.Selector, o.Spec.Template.Labels) || !matches(o.Spec.Selector.MatchLabels, o.Spec.Template.Labels) {
				t.Errorf("%s and its service do not fit together", name)
			}
		case *apps.Deployment:
			if !matches(o.Spec.Selector.MatchLabels, o.Spec.Template.Labels) {
				t.Errorf("%s does not select its pods", name)
			}
		case *scaledJob:
			if pod := o.Spec.JobTargetRef.Template.Spec; pod.RestartPolicy != core.RestartPolicyNever || !slices.Contains(pod.Containers[0].Args, "--one-run") || o.Spec.Triggers[0].Metadata["threshold"] != "1" {
				t.Errorf("%s does not make a pod for each run", name)
			}
		case *policy.PodDisruptionBudget:
			selects(name, o.Spec.Selector.MatchLabels)
		case *networking.NetworkPolicy:
			selects(name, o.Spec.PodSelector.MatchLabels)
		case *autoscaling.HorizontalPodAutoscaler:
			if d, ok := m.objects["Deployment "+o.Spec.ScaleTargetRef.Name].(*apps.Deployment); !ok || d.Spec.Replicas != nil {
				t.Errorf("%s scales what is not there, or has a fixed number", name)
			}
		case *scaled:
			if d, ok := m.objects["Deployment "+o.Spec.ScaleTargetRef.Name].(*apps.Deployment); !ok || d.Spec.Replicas != nil || o.Spec.Triggers[0].Metadata["threshold"] != "4" {
				t.Errorf("%s scales what is not there, or has a fixed number", name)
			}
		}
	}
	for name, pod := range m.pods {
		volumes := slices.Clone(m.claims[name])
		for _, v := range pod.Spec.Volumes {
			volumes = append(volumes, v.Name)
			if c := v.ConfigMap; c != nil && m.objects["ConfigMap "+c.Name] == nil {
				t.Errorf("%s mounts the missing ConfigMap %s", name, c.Name)
			}
		}
		c := pod.Spec.Containers[0]
		if c.ReadinessProbe == nil || c.LivenessProbe == nil || c.SecurityContext == nil || pod.Spec.SecurityContext == nil || !*pod.Spec.SecurityContext.RunAsNonRoot {
			t.Errorf("%s has no probes, or too many rights", name)
		}
		for _, mount := range c.VolumeMounts {
			if !slices.Contains(volumes, mount.Name) {
				t.Errorf("%s mounts %s, which it has not", name, mount.Name)
			}
		}
		if c.Image == "haft-fleet" {
			m.checkCommand(t, name, pod)
		}
	}
}

// checkCommand looks at the command of a pod: it has flags that exist, files that are mounted and addresses of services.
func (m *manifests) checkCommand(t *testing.T, name string, pod core.PodTemplateSpec) {
	t.Helper()
	c := pod.Spec.Containers[0]
	checkArgs(t, name, c.Args)
	for _, probe := range []*core.Probe{c.ReadinessProbe, c.LivenessProbe} {
		if probe.Exec != nil {
			checkArgs(t, name, probe.Exec.Command[1:])
		}
	}
	for i, arg := range c.Args {
		if strings.HasPrefix(arg, "/") && !slices.ContainsFunc(c.VolumeMounts, func(v core.VolumeMount) bool { return v.MountPath == arg || strings.HasPrefix(arg, v.MountPath+"/") }) {
			t.Errorf("%s: %s is in no volume", name, arg)
		}
		if address, ok := strings.CutPrefix(arg, "tls://"); ok {
			host, _, _ := strings.Cut(address, ":")
			if _, ok := m.services[host]; !ok {
				t.Errorf("%s connects to %s, which is no service", name, host)
			}
		}
		if arg == "--drain" {
			drain, err := time.ParseDuration(c.Args[i+1])
			if grace := pod.Spec.TerminationGracePeriodSeconds; err != nil || grace == nil || float64(*grace) <= drain.Seconds() {
				t.Errorf("%s is killed before it is drained: %v", name, err)
			}
		}
	}
}

func matches(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

func hasPort(pod core.PodTemplateSpec, port int32) bool {
	return slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p core.ContainerPort) bool { return p.ContainerPort == port })
}

// The chart makes manifests that Kubernetes knows every field of and that fit together, with each of its options.
func TestTheChart(t *testing.T) {
	cluster := map[string]any{"cluster.enabled": true, "cluster.operatorPublicKey": publicKey(t), "cluster.workerPublicKey": publicKey(t)}
	for name, c := range map[string]struct {
		set  map[string]any
		want []string
	}{
		"as it is": {nil, []string{"StatefulSet haft-server", "Service haft-server", "Deployment haft-worker", "PodDisruptionBudget haft-worker", "NetworkPolicy haft-server", "NetworkPolicy haft-worker"}},
		"flags":    {map[string]any{"server.flags": []any{"--tenant", "red", "--archive-to", "s3://bucket/runs"}, "worker.flags": []any{"--label", "gpu"}, "networkPolicy.enabled": false}, []string{"StatefulSet haft-server"}},
		"KEDA":     {map[string]any{"autoscaling.enabled": true}, []string{"ScaledObject haft-worker"}},
		"isolated": {map[string]any{"isolated.enabled": true}, []string{"ScaledJob haft-worker", "NetworkPolicy haft-worker"}},
		"HPA":      {map[string]any{"hpa.enabled": true}, []string{"HorizontalPodAutoscaler haft-worker"}},
		"cluster":  {cluster, []string{"StatefulSet haft-nats", "Service haft-nats", "ConfigMap haft-nats", "Deployment haft-server", "PodDisruptionBudget haft-nats", "NetworkPolicy haft-nats"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := render(t, c.set)
			if err != nil {
				t.Fatal(err)
			}
			m := decode(t, text)
			m.check(t)
			for _, want := range c.want {
				if m.objects[want] == nil {
					t.Errorf("there is no %s", want)
				}
			}
		})
	}
	if _, err := render(t, map[string]any{"cluster.enabled": true}); err == nil || !strings.Contains(err.Error(), "operatorPublicKey is needed") {
		t.Errorf("a cluster without keys: %v", err)
	}
	text, err := render(t, cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("POD_NAME", "haft-nats-0")
	o := &server.Options{}
	file := filepath.Join(t.TempDir(), "nats.conf")
	config := decode(t, text).objects["ConfigMap haft-nats"].(*core.ConfigMap).Data["nats.conf"]
	encrypted := regexp.MustCompile(`tls \{ cert_file: /tls/tls.crt[^}]*\}`) // the files are not here
	if found := encrypted.FindAllString(config, -1); len(found) != 2 {
		t.Errorf("TLS is asked for in %q", found)
	}
	config = encrypted.ReplaceAllString(config, "")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.ProcessConfigFile(file); err != nil || !o.SyncAlways || len(o.Routes) != 3 || len(o.Nkeys) != 2 || o.ServerName != "haft-nats-0" {
		t.Errorf("the servers of the cluster would be set up wrongly: %v\n%s", err, config)
	}
}

func publicKey(t *testing.T) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return public
}

func checkArgs(t *testing.T, where string, args []string) {
	t.Helper()
	if err := command.Check(args); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}
