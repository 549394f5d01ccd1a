//go:build linux

package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/test/needtest"
)

// deploy is the folder of the files for those who run a fleet.
const deploy = "../../deploy"

// The alert rules do what their tests say, as Prometheus evaluates them, and each names a page of the runbook.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	needtest.Need(t, "promtool")
	cmd := exec.Command("promtool", "test", "rules", "alerts_test.yml")
	cmd.Dir = filepath.Join(deploy, "prometheus")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	rules, err := os.ReadFile(filepath.Join(deploy, "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(filepath.Join(deploy, "prometheus", "alerts_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	runbook, err := os.ReadFile("../../../docs/fleet-runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`(?s)- alert: (\w+)\n.*?runbook: docs/fleet-runbook.md#([a-z-]+)`).FindAllStringSubmatch(string(rules), -1)
	if want := strings.Count(string(rules), "- alert:"); len(alerts) != want {
		t.Errorf("%d of %d alerts name a page", len(alerts), want)
	}
	for _, a := range alerts {
		if !strings.Contains(string(tests), "alertname: "+a[1]) {
			t.Errorf("no test has the alert %s", a[1])
		}
		found := false
		for _, heading := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(runbook), -1) {
			found = found || strings.ToLower(strings.ReplaceAll(heading[1], " ", "-")) == a[2]
		}
		if !found {
			t.Errorf("the runbook has no page %s for %s", a[2], a[1])
		}
	}
}

// A real Prometheus reads the metrics of a fleet at work, accepts the alert rules, and answers every query of the
// dashboard with something.
func TestPrometheusAnswersTheDashboard(t *testing.T) {
	t.Parallel()
	needtest.Need(t, "prometheus")
	f := prepareFleet(t)
	status, listen := f.freeAddress(), f.freeAddress()
	f.serveFlags = []string{"--status", status}
	f.startServer()
	f.connect()
	workerStatus := f.freeAddress()
	w := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--lease", lease.String(), "--dir", filepath.Join(f.dir, "sessions"), "--status", workerStatus)
	t.Cleanup(func() { kill(w) })
	rules, err := filepath.Abs(filepath.Join(deploy, "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: { scrape_interval: 1s, evaluation_interval: 1s }\nrule_files: [%q]\nscrape_configs:\n- { job_name: haft-server, static_configs: [{ targets: [%q] }] }\n- { job_name: haft-worker, static_configs: [{ targets: [%q] }] }\n", rules, status, workerStatus)
	file := filepath.Join(f.dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(f.dir, "tsdb"), "--web.listen-address="+listen, "--log.level=error")
	p.Stdout, p.Stderr = f.output, f.output
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(p) })
	waitFor(t, "Prometheus to read both", func() bool {
		values, _ := ask(listen, "up == 1")
		return values == 2
	})
	ctx, stop := context.WithCancel(t.Context())
	var user sync.WaitGroup
	defer user.Wait()
	defer stop()
	user.Go(func() { // what is counted has to grow while somebody looks
		for ctx.Err() == nil {
			id, prompts, err := f.begin(ctx, 1)
			if err == nil {
				_, err = f.runs.Await(ctx, id, prompts[0])
			}
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			_ = engine.Pause(ctx, time.Second)
		}
	})
	queries := dashboardQueries(t)
	if len(queries) < 12 {
		t.Errorf("the dashboard has only %d queries", len(queries))
	}
	for _, q := range queries {
		var answer string
		for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
			var values int
			if values, answer = ask(listen, q); values > 0 {
				break
			}
			if time.Now().After(end) || strings.Contains(answer, "bad_data") {
				t.Errorf("%s: %s", q, answer)
				break
			}
		}
	}
	var loaded struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	waitFor(t, "the rules to be evaluated", func() bool {
		res, err := http.Get("http://" + listen + "/api/v1/rules")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&loaded); err != nil {
			t.Fatal(err)
		}
		for _, g := range loaded.Data.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health != "ok" {
					return false
				}
			}
		}
		return len(loaded.Data.Groups) > 0
	})
}

// dashboardQueries are those of all panels, with the variables as Grafana would set them.
func dashboardQueries(t *testing.T) (list []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(deploy, "grafana", "haft-fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		if p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("a panel has no title or no query: %+v", p)
		}
		for _, target := range p.Targets {
			list = append(list, strings.NewReplacer("$tenant", "default", "$__rate_interval", "30s").Replace(target.Expr))
		}
	}
	return list
}

// ask returns how many values a query has, and the answer.
func ask(address, query string) (values int, answer string) {
	res, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	var a struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	_ = json.Unmarshal(raw, &a) // an error is shown
	for _, r := range a.Data.Result {
		if r.Value[1] != "NaN" {
			values++
		}
	}
	return values, string(raw)
}

func get(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
