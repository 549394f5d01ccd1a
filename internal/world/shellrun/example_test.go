package shellrun_test

import (
	"context"
	"fmt"
	"time"

	"github.com/haftdev/haft/internal/world/shellrun"
)

func Example() {
	// In a program this is the first line of main.
	reexec := shellrun.Supervise()

	host := shellrun.NewHost(&shellrun.Options{Reexec: reexec, NoProfile: true})
	defer host.Close()
	task, err := host.NewShell("/").Run(context.Background(), shellrun.Request{
		Command: "cd /usr; sleep 600 & echo hello; exit 3",
		Timeout: time.Minute,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := task.Result()
	fmt.Print(task.Output().Excerpt(30_000, false).Text)
	fmt.Println(r.State, r.Status.Code, r.Dir, r.Status.Ended)
	// Output:
	// hello
	// exited 3 /usr [sleep]
}
