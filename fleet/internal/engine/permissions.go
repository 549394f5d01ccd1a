package engine

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// permissions are the subjects that a key may use; nil means all of its tenant.
//
// A worker may neither change streams, nor delete or roll up what is in them, nor pause a consumer or make one: a
// consumer delivers what is stored to any subject, whatever its maker may publish to. What it changes of runs and
// questions it asks the server for, which looks at each change. It has an inbox of its own, so that it does not hear
// the answers that others get.
func permissions(k *Key) *server.Permissions {
	if k.Role == Operator {
		return nil
	}
	allow := []string{"j.>", "w.>", "$O." + Blobs + ".>", "_INBOX.>", "$JS.ACK." + Tasks + ".>", Service("*", k.Name, "*"), "$JS.API.CONSUMER.INFO." + Tasks + ".*"}
	for _, stream := range readable() {
		allow = append(allow, "$JS.API.STREAM.INFO."+stream, "$JS.API.STREAM.MSG.GET."+stream)
	}
	if len(k.Classes) == 0 {
		allow = append(allow, "$JS.API.CONSUMER.MSG.NEXT."+Tasks+".*")
	} else {
		for _, class := range append([]string{"any"}, k.Classes...) {
			for _, priority := range Lanes() {
				allow = append(allow, "$JS.API.CONSUMER.MSG.NEXT."+Tasks+"."+QueueName(class, priority))
			}
		}
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: allow},
		Subscribe: &server.SubjectPermission{Allow: []string{Inbox(k.Name) + ".>", "ctl.>", "live.>", "task.>", "$SRV.>"}},
	}
}

// readable are the streams that workers read.
func readable() []string {
	list := []string{Tasks, "KV_" + Questions, "OBJ_" + Blobs}
	for n := range uint32(Shards) {
		list = append(list, Journals(n), Sessions(n), "KV_"+Runs(n))
	}
	return list
}

// Inbox is the prefix of the inboxes of a key.
func Inbox(key string) string { return "_INBOX.of-" + key }

// Service is the subject of something that the server of a tenant does for who has a key.
func Service(tenant, key, what string) string { return "srv." + tenant + "." + key + "." + what }

// QueueName is the consumer of the tasks of a class and priority.
func QueueName(class, priority string) string { return fmt.Sprintf("class-%s-%s", class, priority) }

// Priorities returns the priorities of runs, the most urgent first: whatever waits under one is
// taken before what waits under the next.
func Priorities() []string { return []string{"high", "normal", "low"} }

// Later is the lane of runs whose submitter has many others: they wait behind those of others, unless these have the
// priority low.
const Later = "later"

// Lanes returns what workers take tasks from, in the order in which they do.
func Lanes() []string { return []string{"high", "normal", Later, "low"} }

// previousPermissions are those of a worker of the previous version, which has no key with permissions in it.
func previousPermissions() *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{
			Allow: []string{"j.>", "w.>", "r.>", "task.>", "$KV.>", "$O.>", "$JS.ACK.>", "$JS.API.>", "_INBOX.>"},
			Deny: []string{"$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.PURGE.>", "$JS.API.STREAM.MSG.DELETE.>",
				"$JS.API.STREAM.SNAPSHOT.>", "$JS.API.STREAM.RESTORE.>", "$JS.API.CONSUMER.DELETE.TASKS.>", "$JS.API.CONSUMER.PAUSE.>"},
		},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "ctl.>", "live.>", "task.>"}, Deny: []string{"_INBOX.of-operator.>"}},
	}
}
