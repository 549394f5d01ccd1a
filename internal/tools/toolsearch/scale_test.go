package toolsearch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/tools/toolsearch"
	"github.com/haftdev/haft/tool"
)

// services are the servers of a large session and what each has, with the folder
// or account that it is in. Most tools of most servers are of this kind.
var services = map[string]string{
	"github":     "issue in a repository, pull_request in a repository, branch in a repository, release in a repository, workflow_run in a repository, gist in an account",
	"gitlab":     "merge_request in a project, pipeline in a project, issue in a project",
	"jira":       "issue in a project, sprint on a board, worklog of an issue, epic in a project",
	"linear":     "issue in a team, cycle of a team, project in a workspace",
	"slack":      "message in a channel, channel in a workspace, reaction on a message, user in a workspace",
	"discord":    "message in a channel, role in a server",
	"gmail":      "email in a mailbox, draft in a mailbox, label in a mailbox, thread in a mailbox",
	"calendar":   "event in a calendar, attendee of an event",
	"drive":      "file in a folder, folder in a drive, permission on a file",
	"notion":     "page in a workspace, database in a workspace, block of a page",
	"confluence": "page in a space, space on a site",
	"postgres":   "table in a schema, index on a table, role in a cluster",
	"s3":         "object in a bucket, bucket in an account",
	"kubernetes": "pod in a namespace, deployment in a namespace, service in a namespace, secret in a namespace, configmap in a namespace",
	"docker":     "container on a host, image on a host, volume on a host, network on a host",
	"terraform":  "workspace in an organization, variable in a workspace, state_version of a workspace",
	"datadog":    "monitor in an account, dashboard in an account, incident in an account",
	"sentry":     "error_event in a project, alert_rule in a project",
	"grafana":    "dashboard in a folder, datasource in an organization, alert in a folder",
	"stripe":     "customer in an account, invoice of a customer, subscription of a customer, refund of a charge, coupon in an account",
	"shopify":    "product in a shop, order in a shop, discount in a shop",
	"salesforce": "lead in an organization, opportunity of an account, contact of an account",
	"hubspot":    "deal in a pipeline, contact in a portal, ticket in a pipeline",
	"zendesk":    "ticket in a queue, article in a help_center",
	"figma":      "frame in a file, comment on a file, component in a library",
	"airtable":   "record in a table, field of a table, view of a table",
	"twilio":     "sms in an account, call in an account, phone_number in an account",
	"spotify":    "playlist of a user, track in a playlist",
	"maps":       "place near a location, route between places",
	"home":       "light in a room, thermostat in a room, scene in a house",
}

// verbs are what is done with each, in the words that servers use.
var verbs = []struct{ name, words string }{
	{"list", "Returns a paginated list of all %[2]s %[3]s. Results can be filtered and sorted."},
	{"get", "Retrieve the details of one %[1]s %[3]s by its identifier."},
	{"create", "Creates a new %[1]s %[3]s and returns it with its identifier."},
	{"update", "Modify the fields of an existing %[1]s %[3]s. Fields that are not given stay as they are."},
	{"delete", "Permanently removes a %[1]s %[3]s. This cannot be undone."},
}

// singles are tools that are unlike the others.
var singles = map[string]string{
	"mcp__github__merge_pull_request":      "Merge a pull request into its base branch.",
	"mcp__github__search_code":             "Full text search over the source code of repositories.",
	"mcp__github__fork_repository":         "Fork a repository into an account or organization.",
	"mcp__github__get_workflow_logs":       "Download the logs of a CI workflow run.",
	"mcp__slack__search_messages":          "Search messages across channels by keyword, author and date.",
	"mcp__gmail__send_email":               "Sends an email message with optional attachments.",
	"mcp__gmail__search_emails":            "Find emails with Gmail's query syntax.",
	"mcp__calendar__find_free_time":        "Finds slots in which all given people are available for a meeting.",
	"mcp__postgres__run_query":             "Execute a read-only SQL statement against the database and return rows.",
	"mcp__postgres__explain_query":         "Show the execution plan of a SQL statement.",
	"mcp__s3__generate_presigned_url":      "Produces a temporary link by which anybody can download an object.",
	"mcp__kubernetes__get_pod_logs":        "Stream the standard output of a container in a pod.",
	"mcp__kubernetes__scale_deployment":    "Change the number of replicas of a deployment.",
	"mcp__kubernetes__rollout_restart":     "Restart all pods of a deployment one after the other.",
	"mcp__docker__exec_in_container":       "Run a command inside a running container.",
	"mcp__docker__build_image":             "Build an image from a Dockerfile.",
	"mcp__terraform__plan":                 "Show what would change if the configuration were applied.",
	"mcp__terraform__apply":                "Apply the planned changes to the infrastructure.",
	"mcp__datadog__query_metrics":          "Query time series of metrics over a time range.",
	"mcp__stripe__charge_card":             "Charge a customer's saved payment card.",
	"mcp__figma__export_node":              "Render a node of a file as PNG or SVG.",
	"mcp__twilio__send_sms":                "Send a text message to a phone number.",
	"mcp__maps__geocode":                   "Turn a street address into latitude and longitude.",
	"mcp__maps__get_weather":               "Current weather conditions and forecast for a location.",
	"mcp__translate__translate_text":       "Translate text from one language into another.",
	"mcp__audio__transcribe":               "Turn speech in an audio recording into text.",
	"mcp__image__remove_background":        "Cut the background out of a picture.",
	"mcp__browser__take_screenshot":        "Capture the visible part of the page in the browser.",
	"mcp__browser__click":                  "Click on an element of the page.",
	"mcp__browser__navigate":               "Go to an address in the browser.",
	"mcp__browser__fillForm":               "Type values into the inputs of a form.",
	"mcp__crypto__getExchangeRate":         "Price of one currency in another, as of now.",
	"mcp__zoom__scheduleMeeting":           "Schedule a video meeting and return the link to join.",
	"mcp__pagerduty__acknowledge_incident": "Acknowledge an incident so that nobody else is paged.",
	"mcp__pagerduty__who_is_on_call":       "Tells who is on call for a schedule at the moment.",
	"mcp__redis__flush_cache":              "Remove all keys of the selected database.",
	"mcp__npm__audit_dependencies":         "Report known vulnerabilities in the dependencies of a package.",
	"mcp__youtube__get_transcript":         "Fetch the captions of a video as text.",
	"mcp__arxiv__search_papers":            "Search for scientific papers by title, author or abstract.",
	"mcp__news__top_headlines":             "The most important headlines of today.",
}

// catalogue is a session with more than 500 tools, haft's own deferred ones among them.
func catalogue() *tool.Set {
	all := []tool.Tool{
		foreign("WebFetch", "fetch web page url http download html documentation read website", "Fetches a page of the web by its address and returns what it says."),
		foreign("WebSearch", "search web internet google find pages current news", "Searches the web and returns titles, addresses and short excerpts of pages."),
		foreign("NotebookEdit", "jupyter ipynb notebook cell edit insert delete", "Changes a cell of a Jupyter notebook."),
		foreign("EnterPlanMode", "plan mode think design before changes approach", "Asks the person to let you plan before you change anything."),
		foreign("EnterWorktree", "git worktree isolated copy branch parallel work", "Makes a git worktree and moves the session into it."),
		foreign("TaskCreate", "create add task work todo team list", "Adds a task to the shared list of work."),
		foreign("TaskUpdate", "update change task status owner complete claim depend block", "Changes a task of the shared list."),
		foreign("Sleep", "wait pause delay timer poll", "Waits for a while and then returns."),
	}
	for service, things := range services {
		for thing := range strings.SplitSeq(things, ", ") {
			noun, where, _ := strings.Cut(thing, " ")
			word := strings.ReplaceAll(noun, "_", " ")
			for _, v := range verbs {
				name := "mcp__" + service + "__" + v.name + "_" + noun
				if v.name == "list" {
					name += "s"
				}
				all = append(all, foreign(name, "", fmt.Sprintf(v.words, word, word+"s", strings.ReplaceAll(where, "_", " "))))
			}
		}
	}
	for name, words := range singles {
		all = append(all, foreign(name, "", words))
	}
	for i, t := range all {
		if server, ok := strings.CutPrefix(t.Name, "mcp__"); ok {
			server, _, _ = strings.Cut(server, "__")
			all[i].Source = "mcp:" + server
		}
	}
	return tool.NewSet(nil, []tool.Tool{toolsearch.New()}, all, nil)
}

// queries are what models ask for, in keywords and in sentences, and what they need.
var queries = map[string]string{
	"github create issue":                          "mcp__github__create_issue",
	"open a new issue on github":                   "mcp__github__create_issue",
	"file a bug in jira":                           "mcp__jira__create_issue",
	"github pr create":                             "mcp__github__create_pull_request",
	"open a pull request":                          "mcp__github__create_pull_request",
	"merge PR":                                     "mcp__github__merge_pull_request",
	"list open pull requests of a repo":            "mcp__github__list_pull_requests",
	"show me all branches":                         "mcp__github__list_branchs",
	"find code on github":                          "mcp__github__search_code",
	"why did the CI workflow fail, show its logs":  "mcp__github__get_workflow_logs",
	"slack send message":                           "mcp__slack__create_message",
	"post to a slack channel":                      "mcp__slack__create_message",
	"search slack for a conversation":              "mcp__slack__search_messages",
	"add a reaction emoji to a message":            "mcp__slack__create_reaction",
	"send an email":                                "mcp__gmail__send_email",
	"mail someone an attachment":                   "mcp__gmail__send_email",
	"search my emails":                             "mcp__gmail__search_emails",
	"find mail from my boss":                       "mcp__gmail__search_emails",
	"write a draft email":                          "mcp__gmail__create_draft",
	"schedule a calendar event":                    "mcp__calendar__create_event",
	"when is everybody free for a meeting":         "mcp__calendar__find_free_time",
	"schedule zoom meeting":                        "mcp__zoom__scheduleMeeting",
	"run sql query":                                "mcp__postgres__run_query",
	"query the database":                           "mcp__postgres__run_query",
	"execution plan of a slow sql statement":       "mcp__postgres__explain_query",
	"upload object to s3":                          "mcp__s3__create_object",
	"remove a bucket":                              "mcp__s3__delete_bucket",
	"share an s3 file by temporary link":           "mcp__s3__generate_presigned_url",
	"kubernetes pod logs":                          "mcp__kubernetes__get_pod_logs",
	"restart a deployment":                         "mcp__kubernetes__rollout_restart",
	"scale deployment replicas":                    "mcp__kubernetes__scale_deployment",
	"list k8s pods kubernetes":                     "mcp__kubernetes__list_pods",
	"run a command in a docker container":          "mcp__docker__exec_in_container",
	"build docker image":                           "mcp__docker__build_image",
	"delete docker volumes":                        "mcp__docker__delete_volume",
	"terraform apply":                              "mcp__terraform__apply",
	"what would terraform change":                  "mcp__terraform__plan",
	"query metrics":                                "mcp__datadog__query_metrics",
	"grafana dashboards":                           "mcp__grafana__list_dashboards",
	"create stripe invoice for a customer":         "mcp__stripe__create_invoice",
	"refund a payment":                             "mcp__stripe__create_refund",
	"cancel subscription":                          "mcp__stripe__delete_subscription",
	"charge a credit card":                         "mcp__stripe__charge_card",
	"send sms":                                     "mcp__twilio__send_sms",
	"text message to phone":                        "mcp__twilio__send_sms",
	"weather forecast":                             "mcp__maps__get_weather",
	"coordinates of an address":                    "mcp__maps__geocode",
	"driving route between two places":             "mcp__maps__get_route",
	"turn on the light in the kitchen":             "mcp__home__update_light",
	"translate to french":                          "mcp__translate__translate_text",
	"speech to text transcription":                 "mcp__audio__transcribe",
	"screenshot of the page":                       "mcp__browser__take_screenshot",
	"click a button in the browser":                "mcp__browser__click",
	"fill in a web form":                           "mcp__browser__fillForm",
	"exchange rate of the dollar":                  "mcp__crypto__getExchangeRate",
	"who is on call":                               "mcp__pagerduty__who_is_on_call",
	"acknowledge the incident":                     "mcp__pagerduty__acknowledge_incident",
	"clear the redis cache":                        "mcp__redis__flush_cache",
	"security vulnerabilities in npm dependencies": "mcp__npm__audit_dependencies",
	"youtube transcript":                           "mcp__youtube__get_transcript",
	"scientific papers about transformers":         "mcp__arxiv__search_papers",
	"today's news headlines":                       "mcp__news__top_headlines",
	"download a web page":                          "WebFetch",
	"read documentation from a url":                "WebFetch",
	"search the internet":                          "WebSearch",
	"edit jupyter notebook":                        "NotebookEdit",
	"change a cell in an ipynb file":               "NotebookEdit",
	"work in a separate git worktree":              "EnterWorktree",
	"plan before changing code":                    "EnterPlanMode",
	"mark a task as complete":                      "TaskUpdate",
	"add a todo task":                              "TaskCreate",
	"wait a few seconds":                           "Sleep",
	"notion page create":                           "mcp__notion__create_page",
	"update a confluence page":                     "mcp__confluence__update_page",
	"export figma frame as png":                    "mcp__figma__export_node",
	"comments on a figma file":                     "mcp__figma__list_comments",
	"salesforce leads":                             "mcp__salesforce__list_leads",
	"close a support ticket in zendesk":            "mcp__zendesk__update_ticket",
	"add a track to a spotify playlist":            "mcp__spotify__create_track",
	"+linear issue":                                "mcp__linear__get_issue",
	"jira worklogs":                                "mcp__jira__list_worklogs",
	"errors reported by sentry":                    "mcp__sentry__list_error_events",
	"list airtable records":                        "mcp__airtable__list_records",
	"rotate a kubernetes secret":                   "mcp__kubernetes__update_secret",
	"shopify orders":                               "mcp__shopify__list_orders",
	"mute datadog monitor":                         "mcp__datadog__update_monitor",
	"create merge request":                         "mcp__gitlab__create_merge_request",
	"gitlab pipeline status":                       "mcp__gitlab__get_pipeline",
	"hubspot deals in the pipeline":                "mcp__hubspot__list_deals",
	"share a file on google drive with somebody":   "mcp__drive__create_permission",
	"read the comments of a design":                "mcp__figma__list_comments",
	"put a file into a bucket":                     "mcp__s3__create_object",
	"customer list stripe":                         "mcp__stripe__list_customers",
	"turn off the thermostat":                      "mcp__home__update_thermostat",
	"create a new database role":                   "mcp__postgres__create_role",
	"environment variable terraform set":           "mcp__terraform__update_variable",
	"alert rules":                                  "mcp__sentry__list_alert_rules",
	"delete gist":                                  "mcp__github__delete_gist",
	"publish a release":                            "mcp__github__create_release",
	"fork a repo":                                  "mcp__github__fork_repository",
	"gmail label":                                  "mcp__gmail__create_label",
	"reply to an email thread":                     "mcp__gmail__get_thread",
	"invite attendee to event":                     "mcp__calendar__create_attendee",
	"image background removal":                     "mcp__image__remove_background",
	"browser open url":                             "mcp__browser__navigate",
	"captions of a video":                          "mcp__youtube__get_transcript",
	"help center article":                          "mcp__zendesk__get_article",
	"sprint planning board":                        "mcp__jira__list_sprints",
	"stop a running container":                     "mcp__docker__delete_container",
	"tail container output":                        "mcp__kubernetes__get_pod_logs",
	"product inventory shopify":                    "mcp__shopify__list_products",
	"get latest news":                              "mcp__news__top_headlines",
	"notebook":                                     "NotebookEdit",
	"todo":                                         "TaskCreate",
	"url":                                          "WebFetch",
	"web":                                          "WebSearch",
}

func TestTheRightToolIsAmongTheFirstFiveOfFiveHundred(t *testing.T) {
	tools := catalogue()
	if n := len(tools.Deferred()); n < 500 {
		t.Fatalf("only %d tools", n)
	}
	first := 0
	began := time.Now()
	for query, want := range queries {
		out := search(t, tools, fmt.Sprintf(`{"query":%q}`, query)).Output.(toolsearch.Output)
		switch i := slices.Index(out.Matches, want); {
		case i < 0:
			t.Errorf("%q found %v, want %s among them", query, out.Matches, want)
		case i == 0:
			first++
		}
	}
	t.Logf("%d queries over %d tools, %d right at the first place, %s each", len(queries), len(tools.Deferred()), first, time.Since(began)/time.Duration(len(queries)))
}
