package harness_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// TestATeamWorksTogether plays a small team: the lead writes tasks down, ada takes one
// and tells bob what she found, bob finishes his with it, and the lead ends the team.
func TestATeamWorksTogether(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex
	heard := map[string]string{} // what each heard
	r.serve(func(q *script.Request) script.Turn {
		first, body := q.FirstText(), string(q.Body)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.Contains(first, "ADA"):
			heard["ada"] = body
			return at(q.Turn, uses("TaskList", `{}`), uses("TaskUpdate", `{"taskId":"1","status":"completed","owner":"ada"}`),
				uses("SendMessage", `{"to":"bob","message":"the answer is 42"}`), says("ada is done"))
		case strings.Contains(first, "BOB"):
			heard["bob"] = body
			if strings.Contains(body, "the answer is 42") {
				return at(strings.Count(body, `"taskId":"2"`), uses("TaskUpdate", `{"taskId":"2","status":"completed","owner":"bob"}`), says("bob used 42"))
			}
			if q.Turn > 300 {
				return says("bob heard nothing")
			}
			return uses("Sleep", `{"duration_ms":20}`)
		case q.Turn == 0:
			return uses("TeamCreate", `{"team_name":"port","description":"ports it"}`)
		case q.Turn == 1:
			return script.Turn{Blocks: []script.Block{
				call("TaskCreate", `{"subject":"Find the answer","description":"x"}`), call("TaskCreate", `{"subject":"Use the answer","description":"y"}`),
			}}
		case q.Turn == 2:
			return script.Turn{Blocks: []script.Block{
				call("Agent", `{"description":"use","prompt":"BOB","name":"bob","team_name":"port"}`), call("Agent", `{"description":"find","prompt":"ADA","name":"ada","team_name":"port"}`),
			}}
		case strings.Contains(body, "bob used 42") && strings.Contains(body, "ada is done"):
			return at(strings.Count(body, "The team port is no more"), uses("TeamDelete", `{"team_name":"port"}`), says("the team is done"))
		}
		return says("I wait")
	})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "port it")
	list, err := c.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	for i, owner := range []string{"ada", "bob"} {
		if len(list.Tasks) != 2 || list.Tasks[i].Status != "completed" || list.Tasks[i].Owner != owner {
			t.Fatalf("tasks %+v", list.Tasks)
		}
	}
	if !strings.Contains(heard["ada"], "Find the answer") {
		t.Error("ada does not see the tasks of the lead")
	}
	if !strings.Contains(heard["bob"], "Message from ada") {
		t.Errorf("bob was not told by ada: %s", heard["bob"])
	}
	var ended bool
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok && ev.Outcome.Tool == "TeamDelete" {
			ended = !ev.Outcome.Result.Failed && strings.Contains(ev.Outcome.Result.Text(), "is no more")
		}
	}
	if !ended {
		t.Error("the team was not ended")
	}
	for _, k := range c.Agents() {
		if k.State() != "completed" || k.Team != "" {
			t.Errorf("%+v", k)
		}
	}
}

// at is the turn of a number, or the last.
func at(n int, turns ...script.Turn) script.Turn { return turns[min(n, len(turns)-1)] }

// TestEverybodyInATeamHearsABroadcast sends one message to all.
func TestEverybodyInATeamHearsABroadcast(t *testing.T) {
	r := newRig(t)
	r.serve(func(q *script.Request) script.Turn {
		body := string(q.Body)
		switch {
		case strings.Contains(q.FirstText(), "MEMBER"):
			if strings.Contains(body, "stop and say so") {
				return says("heard all")
			}
			if q.Turn > 300 {
				return says("heard nothing")
			}
			return uses("Sleep", `{"duration_ms":20}`)
		case q.Turn == 0:
			return uses("TeamCreate", `{"team_name":"x"}`)
		case q.Turn == 1:
			return script.Turn{Blocks: []script.Block{
				call("Agent", `{"description":"a","prompt":"MEMBER a","name":"a","team_name":"x"}`), call("Agent", `{"description":"b","prompt":"MEMBER b","name":"b","team_name":"x"}`),
				call("Agent", `{"description":"c","prompt":"MEMBER c","name":"c","team_name":"x"}`),
			}}
		case q.Turn == 2:
			return uses("SendMessage", `{"to":"*","message":"stop and say so"}`)
		}
		return says("ok")
	})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "go")
	heard := 0
	for _, ev := range events {
		if ev, ok := ev.(agent.TaskChanged); ok && ev.Change == "ended" && strings.Contains(ev.Task.Summary, "heard all") {
			heard++
		}
	}
	if heard != 3 {
		t.Errorf("%d of 3 members heard it", heard)
	}
}
