// Command floor is the floor under any agent loop on a machine: the least code
// that plays scripted turns over HTTP. It validates nothing, asks nobody and
// keeps nothing; bench/turns measures haft and others against it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

type object = map[string]any

func main() {
	if err := converse(os.Getenv("ANTHROPIC_BASE_URL") + "/v1/messages"); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func converse(url string) error {
	messages := []any{object{"role": "user", "content": "hello"}}
	for {
		said, results, err := turn(url, messages)
		if err != nil || len(results) == 0 {
			return err
		}
		messages = append(messages, object{"role": "assistant", "content": said}, object{"role": "user", "content": results})
	}
}

// turn asks once and does what the answer says.
func turn(url string, messages []any) (said, results []any, err error) {
	body, err := json.Marshal(object{"model": "m", "stream": true, "max_tokens": 1000, "tools": []any{object{"name": "Read"}}, "messages": messages})
	if err != nil {
		return nil, nil, err
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	var block object
	var text strings.Builder
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return said, results, nil
		} else if err != nil {
			return nil, nil, err
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var ev event
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			return nil, nil, err
		}
		switch ev.Type {
		case "content_block_start":
			block = ev.Block
			text.Reset()
		case "content_block_delta":
			text.WriteString(ev.Delta.Text + ev.Delta.JSON)
		case "content_block_stop":
			if block["type"] == "tool_use" {
				results = append(results, call(block, text.String()))
			} else {
				block["text"] = text.String()
			}
			said = append(said, block)
		}
	}
}

type event struct {
	Type  string `json:"type"`
	Block object `json:"content_block"`
	Delta struct {
		Text string `json:"text"`
		JSON string `json:"partial_json"`
	} `json:"delta"`
}

// call reads a file or runs a command.
func call(block object, raw string) object {
	var input struct {
		File    string `json:"file_path"`
		Command string `json:"command"`
	}
	err := json.Unmarshal([]byte(raw), &input)
	block["input"] = json.RawMessage(raw)
	var out []byte
	switch {
	case err != nil:
	case input.Command != "":
		out, err = exec.Command("bash", "-c", input.Command).CombinedOutput()
	default:
		out, err = os.ReadFile(input.File)
	}
	if err != nil {
		out = []byte(err.Error())
	}
	return object{"type": "tool_result", "tool_use_id": block["id"], "content": string(out)}
}
