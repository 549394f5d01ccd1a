package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
)

// A victim is a tenant that somebody attacks.
type victim struct {
	t    *testing.T
	conn *engine.Conn // of its operator
	runs *runs.Runs
	id   string // of a run that the worker honest/1 leads, and that has asked something
}

// newVictim fills a tenant.
func newVictim(t *testing.T, srv *engine.Server, tenant, honest string) *victim {
	t.Helper()
	ctx := t.Context()
	conn := connect(t, srv, srv.TenantKeys(tenant).Operator)
	if err := conn.Setup(ctx, 1, engine.Limits{}); err != nil {
		t.Fatal(err)
	}
	v := &victim{t: t, conn: conn, runs: runs.New(conn, "default")}
	go v.runs.Serve(ctx, nil)
	var err error
	if v.id, _, err = v.runs.Submit(ctx, &runs.Submission{Dir: "/", Args: []string{"--model=sonnet"}, Ask: true, Prompt: runs.Prompt{Text: "secret prompt"}}); err != nil {
		t.Fatal(err)
	}
	if err := v.runs.SetSchedule(ctx, &runs.Schedule{Name: "nightly", Cron: "0 6 * * *", Submission: runs.Submission{Dir: "/", Prompt: runs.Prompt{Text: "secret prompt"}}}); err != nil {
		t.Fatal(err)
	}
	worker := connect(t, srv, honest)
	if _, err := worker.JS.Publish(ctx, fmt.Sprintf("j.%d.default.%s.main", engine.ShardOf(v.id), v.id), []byte("secret entry")); err != nil {
		t.Fatal(err)
	}
	led := runs.New(worker, "default")
	if _, err := led.Queue(ctx, runs.AnyWorker, runs.Normal, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := led.Update(ctx, v.id, func(r *runs.Run) error { r.State, r.Owner = runs.Running, "honest/1"; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := worker.NATS.Subscribe(led.Leads(v.id), func(m *nats.Msg) { _ = m.Respond([]byte("honest/1")) }); err != nil {
		t.Fatal(err)
	}
	asking, stop := context.WithCancel(ctx)
	t.Cleanup(stop)
	go led.Ask(asking, &runs.Question{Run: v.id, Tool: "Bash"}, "call")
	for {
		if list, err := v.runs.Questions(ctx); err != nil {
			t.Fatal(err)
		} else if len(list) == 1 {
			return v
		}
	}
}

func connect(t *testing.T, srv *engine.Server, key string) *engine.Conn {
	t.Helper()
	var conn *engine.Conn
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); { // it may not have noticed the key yet
		if conn, err = engine.Connect(t.Context(), srv.URL(), &engine.ConnectOptions{Key: key}); err == nil {
			t.Cleanup(conn.Close)
			return conn
		}
	}
	t.Fatal(err)
	return nil
}

// look returns everything that the tenant has, and how its streams and queues are set.
func (v *victim) look() map[string]string {
	v.t.Helper()
	seen := map[string]string{}
	ctx := v.t.Context()
	names := v.conn.JS.StreamNames(ctx)
	for name := range names.Name() {
		s, err := v.conn.JS.Stream(ctx, name)
		if err != nil {
			v.t.Fatal(err)
		}
		info, err := s.Info(ctx)
		if err != nil {
			v.t.Fatal(err)
		}
		config, _ := json.Marshal(info.Config)
		seen[name] = fmt.Sprintf("messages %d to %d, %d of them: %s", info.State.FirstSeq, info.State.LastSeq, info.State.Msgs, config)
		for c := range s.ListConsumers(ctx).Info() {
			if c.Config.Durable != "" {
				config, _ := json.Marshal(c.Config)
				seen[name+" "+c.Name] = fmt.Sprintf("paused %v: %s", c.Paused, config)
			}
		}
	}
	if err := names.Err(); err != nil {
		v.t.Fatal(err)
	}
	run, err := v.runs.Get(ctx, v.id)
	if err != nil {
		v.t.Fatal(err)
	}
	raw, _ := json.Marshal(run)
	seen["run"] = string(raw)
	return seen
}

// An attempt returns what it got; nothing that it should not get.
type attempt struct {
	what string
	do   func(context.Context) (got string, err error)
}

// attackTime is how long an attempt waits for an answer, which what is forbidden does not get.
const attackTime = 500 * time.Millisecond

// attack makes all attempts at once.
func attack(t *testing.T, list []attempt) {
	t.Helper()
	if len(list) < 40 {
		t.Errorf("these are only %d attempts", len(list))
	}
	var making sync.WaitGroup
	for _, a := range list {
		making.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), attackTime)
			defer cancel()
			if got, err := a.do(ctx); err == nil && got != "" {
				t.Errorf("%s: got %.300q", a.what, got)
			}
		})
	}
	making.Wait()
}

// sends publishes something, if need be with a header.
func sends(conn *engine.Conn, subject, body string, header ...string) attempt {
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	for i := 0; i+1 < len(header); i += 2 {
		m.Header.Set(header[i], header[i+1])
	}
	return attempt{"publish to " + subject + " " + strings.Join(header, " "), func(ctx context.Context) (string, error) {
		return "", errors.Join(conn.NATS.PublishMsg(m), conn.NATS.FlushWithContext(ctx))
	}}
}

// asks sends a request, whose answer may say nothing but that it failed.
func asks(conn *engine.Conn, subject, body string) attempt {
	return attempt{"ask " + subject + " " + body, func(ctx context.Context) (string, error) {
		m, err := conn.NATS.RequestWithContext(ctx, subject, []byte(body))
		if err != nil {
			return "", err
		}
		var a struct{ Error any }
		if json.Unmarshal(m.Data, &a) == nil && a.Error != nil && a.Error != "" {
			return "", nil
		}
		return string(m.Data), nil
	}}
}

// hears subscribes to what others say.
func hears(conn *engine.Conn, subject string) attempt {
	return attempt{"listen to " + subject, func(ctx context.Context) (string, error) {
		sub, err := conn.NATS.SubscribeSync(subject)
		if err != nil {
			return "", err
		}
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return "", err
		}
		return m.Subject, nil
	}}
}

// A worker's key changes and stops nothing that belongs to others, and hears nothing that is not for it. (What runs of
// its tenant have written, it can read.)
func TestAHostileWorker(t *testing.T) {
	store := t.TempDir()
	srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	key := func(name string, classes ...string) string {
		file, err := engine.KeysIn(store, engine.DefaultTenant).Add(engine.Key{Name: name, Role: engine.Worker, Classes: classes}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	v := newVictim(t, srv, engine.DefaultTenant, key("honest"))
	bad := connect(t, srv, key("mallory", "gpu"))
	shard := engine.ShardOf(v.id)
	run, queue := fmt.Sprintf("$KV.%s.default.%s", engine.Runs(shard), v.id), engine.QueueName(runs.AnyWorker, runs.Normal)
	record, err := v.runs.Get(t.Context(), v.id)
	if err != nil {
		t.Fatal(err)
	}
	revision := revisionOf(t, v, run)
	put := func(as string, change func(*runs.Run)) attempt {
		r := *record
		change(&r)
		value, _ := json.Marshal(&r)
		return asks(bad, engine.Service("default", as, "put"), fmt.Sprintf(`{"id":%q,"revision":%d,"value":%s}`, v.id, revision, value))
	}
	prompt := `{"uuid":"u","text":"rm -rf /"}`
	list := []attempt{
		sends(bad, run, "", "Nats-Rollup", "all"), sends(bad, run, "", "KV-Operation", "DEL"), sends(bad, run, `{}`),
		sends(bad, "$KV.QUESTIONS.default."+v.id+".call", `{"answer":{"allow":true}}`), sends(bad, "$KV.QUESTIONS.default.x.y", "", "Nats-Rollup", "all"),
		sends(bad, "$O.BLOBS.M.x", "", "Nats-Rollup", "all"), sends(bad, "$O.BLOBS.C.x", "", "Nats-Rollup", "sub"),
		sends(bad, fmt.Sprintf("p.%d.default.%s.u", shard, v.id), prompt), sends(bad, fmt.Sprintf("r.%d.default.%s.u", shard, v.id), `{}`),
		sends(bad, "task.any.high.x", "default"), sends(bad, "sched.default.x", `{}`, "Nats-Schedule", "@every 1s", "Nats-Schedule-Target", "fire.default.x"), sends(bad, "fire.default.x", `{}`),
		sends(bad, v.runs.Control(v.id), "cancel"), sends(bad, v.runs.Drops(v.id), "u"),
		asks(bad, "$JS.API.STREAM.DELETE.TASKS", ""), asks(bad, "$JS.API.STREAM.DELETE.J0", ""), asks(bad, "$JS.API.STREAM.PURGE.J0", ""), asks(bad, "$JS.API.STREAM.PURGE.KV_"+engine.Runs(shard), ""),
		asks(bad, "$JS.API.STREAM.UPDATE.TASKS", `{"name":"TASKS","subjects":["x"]}`), asks(bad, "$JS.API.STREAM.CREATE.MINE", `{"name":"MINE","subjects":["mine.>"]}`),
		asks(bad, "$JS.API.STREAM.MSG.DELETE.J0", `{"seq":1}`), asks(bad, "$JS.API.STREAM.SNAPSHOT.J0", `{"deliver_subject":"_INBOX.of-mallory.x"}`), asks(bad, "$JS.API.STREAM.RESTORE.J9", `{}`),
		asks(bad, "$JS.API.STREAM.LEADER.STEPDOWN.J0", ""), asks(bad, "$JS.API.STREAM.MSG.GET.SCHEDULES", `{"seq":1}`), asks(bad, "$JS.API.DIRECT.GET.SCHEDULES", `{"seq":1}`), asks(bad, "$JS.API.STREAM.NAMES", ""),
		asks(bad, "$JS.API.CONSUMER.PAUSE.TASKS."+queue, `{"pause_until":"2100-01-01T00:00:00Z"}`), asks(bad, "$JS.API.CONSUMER.DELETE.TASKS."+queue, ""),
		asks(bad, "$JS.API.CONSUMER.CREATE.TASKS."+queue, `{"stream_name":"TASKS","config":{"durable_name":"`+queue+`","ack_policy":"explicit","pause_until":"2100-01-01T00:00:00Z"}}`),
		asks(bad, "$JS.API.CONSUMER.DURABLE.CREATE.TASKS.mine", `{"stream_name":"TASKS","config":{"durable_name":"mine","ack_policy":"explicit"}}`),
		asks(bad, "$JS.API.CONSUMER.CREATE.OBJ_BLOBS.mine", `{"stream_name":"OBJ_BLOBS","config":{"name":"mine","deliver_subject":"p.0.default.x.y","ack_policy":"none"}}`),
		asks(bad, "$JS.API.CONSUMER.MSG.NEXT.TASKS."+engine.QueueName("cpu", runs.Normal), ""), asks(bad, "$JS.API.META.LEADER.STEPDOWN", ""), asks(bad, "$JS.API.ACCOUNT.PURGE.$G", ""),
		hears(bad, ">"), hears(bad, "_INBOX.>"), hears(bad, engine.Inbox("operator")+".>"), hears(bad, engine.Inbox("honest")+".>"), hears(bad, "p.>"), hears(bad, "j.>"), hears(bad, "$KV.>"), hears(bad, "$JS.>"), hears(bad, "srv.>"), hears(bad, "$SYS.>"), hears(bad, "audit.>"), hears(bad, "ops.>"),
		sends(bad, "audit.default.submit", `{"by":"honest"}`), asks(bad, "$JS.API.STREAM.MSG.GET.AUDIT", `{"seq":1}`), asks(bad, "ops.default.page", `{}`), asks(bad, "ops.default.share", `{"run":"x","user":"honest"}`),
		put("honest", func(r *runs.Run) { r.Reason = "mine" }), put("operator", func(r *runs.Run) { r.Reason = "mine" }),
		put("mallory", func(r *runs.Run) { r.Args = []string{"--permission-mode=bypassPermissions"} }), put("mallory", func(r *runs.Run) { r.Mode = "bypassPermissions" }),
		put("mallory", func(r *runs.Run) { r.Dir = "/etc" }), put("mallory", func(r *runs.Run) { r.Class = "gpu" }), put("mallory", func(r *runs.Run) { r.State = runs.Archived }),
		put("mallory", func(r *runs.Run) { r.State = runs.Cancelled }), put("mallory", func(r *runs.Run) { r.Ask = false }), put("mallory", func(r *runs.Run) { r.Owner = "honest/2" }),
		put("mallory", func(r *runs.Run) { r.Owner = "mallory/1" }), put("mallory", func(r *runs.Run) { r.Owner = "" }),
		put("mallory", func(r *runs.Run) { r.State, r.Reason = runs.Failed, "mine" }), put("mallory", func(r *runs.Run) { r.Tip = "mine" }),
		asks(bad, engine.Service("default", "mallory", "settle"), fmt.Sprintf(`{"id":%q,"prompt":"u","value":{}}`, v.id)),
		asks(bad, engine.Service("default", "mallory", "ask"), fmt.Sprintf(`{"id":"%s.call","value":{"answer":{"allow":true}}}`, v.id)),
		asks(bad, engine.Service("default", "mallory", "withdraw"), fmt.Sprintf(`{"id":"%s.call"}`, v.id)),
		asks(bad, engine.Service("default", "mallory", "queue"), `{"class":"any","priority":"normal","lease":1}`),
		{"have the server publish elsewhere", func(ctx context.Context) (string, error) {
			return "", errors.Join(bad.NATS.PublishRequest(engine.Service("default", "mallory", "nothing"), run, []byte(`{}`)), bad.NATS.FlushWithContext(ctx))
		}},
	}
	before := v.look()
	attack(t, list)
	if diff := cmp.Diff(before, v.look()); diff != "" {
		t.Error(diff)
	}
	if bad.NATS.LastError() == nil {
		t.Error("nothing was forbidden")
	}
}

func revisionOf(t *testing.T, v *victim, subject string) uint64 {
	t.Helper()
	s, err := v.conn.Stream(t.Context(), "KV_"+engine.Runs(engine.ShardOf(v.id)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	return m.Sequence
}

// The operator of a tenant does as they like with it, and nothing to another tenant, which can go on working.
func TestAHostileTenant(t *testing.T) {
	store := t.TempDir()
	srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: store, Tenants: []string{"red", "blue"}, Quota: engine.Quota{Store: 32 << 20, Connections: 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	blue, err := engine.KeysIn(store, "blue").Add(engine.Key{Name: "honest", Role: engine.Worker}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	v := newVictim(t, srv, "blue", blue)
	bad := connect(t, srv, srv.TenantKeys("red").Operator)
	if err := bad.Setup(t.Context(), 1, engine.Limits{}); err != nil {
		t.Fatal(err)
	}
	red, err := engine.KeysIn(store, "red").Add(engine.Key{Name: "many", Role: engine.Worker}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	connect(t, srv, red)
	body := strings.Repeat("x", 512<<10)
	list := []attempt{
		hears(bad, "$SYS.SERVER.>"), hears(bad, "$SYS.ACCOUNT.>"), asks(bad, "$SYS.REQ.SERVER.PING", ""), asks(bad, "$SYS.REQ.ACCOUNT.blue.CONNZ", ""), asks(bad, "$SYS.REQ.ACCOUNT.blue.SUBSZ", ""), asks(bad, "$SYS.REQ.ACCOUNT.blue.JSZ", ""),
		asks(bad, "$SYS.REQ.CLAIMS.DELETE", "x"), asks(bad, "$SYS.REQ.CLAIMS.UPDATE", "x"), asks(bad, "$JS.API.ACCOUNT.PURGE.blue", ""), asks(bad, "$JS.API.META.LEADER.STEPDOWN", ""), asks(bad, "$JS.API.SERVER.REMOVE", `{"peer":"haft"}`),
		asks(bad, "$JS.blue.API.STREAM.NAMES", ""), asks(bad, "$JS.blue.API.STREAM.DELETE.J0", ""), hears(bad, "*.0.default."+v.id+".>"), hears(bad, engine.Inbox("honest")+".>"),
		{"read a run", func(ctx context.Context) (string, error) {
			r, err := runs.New(bad, "default").Get(ctx, v.id)
			if err != nil {
				return "", err
			}
			return r.First, nil
		}},
		{"list connections", func(ctx context.Context) (string, error) {
			m, err := bad.NATS.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING.CONNZ", nil) // those of one's own tenant
			if err != nil || !strings.Contains(string(m.Data), "honest") {
				return "", err
			}
			return string(m.Data), nil
		}},
		{"read a journal", func(ctx context.Context) (string, error) {
			s, err := bad.JS.Stream(ctx, engine.Journals(engine.ShardOf(v.id)))
			if err != nil {
				return "", err
			}
			m, err := s.GetMsg(ctx, 1)
			return fmt.Sprint(m), err
		}},
		{"cancel a run", func(ctx context.Context) (string, error) { return "", runs.New(bad, "default").Cancel(ctx, v.id) }},
		{"answer a question", func(ctx context.Context) (string, error) {
			return "", runs.New(bad, "default").Answer(ctx, v.id+".call", runs.Answer{Allow: true, By: "red"})
		}},
		sends(bad, v.runs.Control(v.id), "cancel"), sends(bad, fmt.Sprintf("$KV.%s.default.%s", engine.Runs(engine.ShardOf(v.id)), v.id), "{}"), sends(bad, "$KV.QUESTIONS.default.x", "", "Nats-Rollup", "all"),
		{"fill the memory", func(ctx context.Context) (string, error) {
			if _, err := bad.JS.CreateStream(ctx, jetstream.StreamConfig{Name: "MEMORY", Subjects: []string{"memory.>"}, Storage: jetstream.MemoryStorage}); err != nil {
				return "", err
			}
			for n := range 400 { // 200 MB
				if _, err := bad.JS.Publish(ctx, "memory.x", []byte(body)); err != nil {
					return "", err
				}
				if n > 64 {
					return "more than 32 MB of memory", nil
				}
			}
			return "", nil
		}},
		{"fill the disk", func(ctx context.Context) (string, error) {
			for n := range 400 {
				if _, err := bad.JS.Publish(ctx, "sched.default.x", []byte(body)); err != nil {
					return "", err
				}
				if _, err := bad.JS.Publish(ctx, "j.0.default.x.main", []byte(body)); err != nil {
					return "", err
				}
				if n > 100 {
					return "more than 50 MB of the disk", nil
				}
			}
			return "", nil
		}},
		{"make connections", func(ctx context.Context) (string, error) {
			for range 40 {
				c, err := engine.Connect(ctx, srv.URL(), &engine.ConnectOptions{Key: red})
				if err != nil {
					return "", err
				}
				defer c.Close()
			}
			return "40 connections", nil
		}},
		{"make streams", func(ctx context.Context) (string, error) {
			for n := range 200 {
				if _, err := bad.JS.CreateStream(ctx, jetstream.StreamConfig{Name: fmt.Sprint("MANY", n), Subjects: []string{fmt.Sprint("many.", n)}}); err != nil {
					return "", err
				}
			}
			return "200 streams", nil
		}},
	}
	for _, name := range []string{"TASKS", "KV_QUESTIONS", "OBJ_BLOBS", "SCHEDULES", "J0", "S0", "KV_RUNS0"} {
		list = append(list, asks(bad, "$JS.API.STREAM.INFO."+name+".blue", ""), sends(bad, "$JS.API.STREAM.PURGE."+name, ""), sends(bad, "$JS.API.STREAM.DELETE."+name, ""))
	}
	before := v.look()
	attack(t, list)
	if diff := cmp.Diff(before, v.look()); diff != "" {
		t.Error(diff)
	}
	if _, _, err := v.runs.Submit(t.Context(), &runs.Submission{Dir: "/", Prompt: runs.Prompt{Text: "go on"}}); err != nil {
		t.Errorf("the other tenant cannot work: %v", err)
	}
}
