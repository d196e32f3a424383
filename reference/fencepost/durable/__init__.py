"""The durable Host: instances in a database, and workers that are processes of their own.

`store` keeps what the machine says, one transaction for each transition; `host` is the caller's binding from
any process; `worker` claims what is due and runs contexts. No rule of the machine is written again here, but
for the guards that keep a stale owner's write out inside of the very statement that would make it.
"""

import logging

logging.getLogger("fencepost").addHandler(logging.NullHandler())  # whoever runs it says what is shown
