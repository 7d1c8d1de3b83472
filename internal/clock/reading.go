package clock

import "time"

// OldestReading is how old the question may be by which a process knows a server's clock. Two clocks that
// differ by a hundredth have moved apart by 100 ms then, which is the margin of the lease of a pass.
const OldestReading = 10 * time.Second
