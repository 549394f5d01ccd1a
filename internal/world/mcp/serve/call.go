package serve

import "time"

// patience is how long an answer to a question counts.
const patience = 10 * time.Minute
