package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/haftdev/haft/fleet/internal/runs"
)

// connectTime is how long a program may take to answer.
const connectTime = 10 * time.Second

// lastTime is how long a program may take to hear the last words of a conversation.
const lastTime = 5 * time.Second

// endWith ends a conversation with a context. A program that does not listen is not waited for.
func endWith(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		_ = conn.SetReadDeadline(time.Now())
		_ = conn.SetWriteDeadline(time.Now().Add(lastTime))
	})
}

// flagsOf reads the flags of a program. They come over its connection, so that the engine
// keeps nothing of them; an API server of an older version sends them with the prompt.
func flagsOf(in *bufio.Reader, p runs.Prompt) (args []string, err error) {
	if !slices.Equal(p.Args, runs.FlagsFollow()) {
		return p.Args, nil
	}
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &args)
	}
	if err != nil {
		return nil, fmt.Errorf("could not read the program's flags: %w", err)
	}
	return args, nil
}
