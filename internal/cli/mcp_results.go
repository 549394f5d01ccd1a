package cli

import (
	"encoding/json"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// Hosts give their model the structured content of a result, many of them in place of the
// text. So it contains what a model reads, as text (numbered lines, a diff, the output of a
// command), and a few values that a program would otherwise have to look for in the text.
// The tools' own outputs are for programs that display results: they contain whole files.
type (
	textResult struct {
		Text string `json:"text"`
	}
	bashResult struct {
		Text             string `json:"text"`
		ExitCode         int    `json:"exitCode"`
		BackgroundTaskID string `json:"backgroundTaskId,omitempty"`
	}
	backgroundResult struct {
		Text     string `json:"text"`
		Status   string `json:"status"`
		ExitCode *int   `json:"exitCode,omitempty"`
	}
	changeResult struct {
		Text     string `json:"text"`
		FilePath string `json:"filePath"`
	}
	readResult struct {
		Text string `json:"text"`
		Type string `json:"type"`
		File struct {
			StartLine  *int `json:"startLine,omitempty"`
			NumLines   *int `json:"numLines,omitempty"`
			TotalLines *int `json:"totalLines,omitempty"`
		} `json:"file"`
	}
	grepResult struct {
		Text     string `json:"text"`
		NumFiles int    `json:"numFiles"`
	}
	globResult struct {
		Text      string `json:"text"`
		NumFiles  int    `json:"numFiles"`
		Truncated bool   `json:"truncated"`
	}
	fetchResult struct {
		Text string `json:"text"`
		URL  string `json:"url"`
		Code int    `json:"code"`
	}
)

// A resultForm is the structured form of a tool's results.
type resultForm struct {
	schema func() *schema.Schema
	of     func(tool.Result) (any, error)
}

// resultOf converts to the form T: its fields other than the text are the fields of the
// tool's output with the same names.
func resultOf[T any]() resultForm {
	return resultForm{
		schema: schema.OfOutput[T],
		of: func(r tool.Result) (any, error) {
			var small T
			raw, err := json.Marshal(r.Output)
			if err == nil {
				err = json.Unmarshal(raw, &small)
			}
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(textResult{r.Text()})
			if err == nil {
				err = json.Unmarshal(text, &small)
			}
			return small, err
		},
	}
}
