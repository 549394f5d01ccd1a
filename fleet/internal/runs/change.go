package runs

import (
	"time"
)

// promptTime is how long a run may be queued before its prompt is there.
const promptTime = time.Minute
