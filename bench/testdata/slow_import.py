"""Never finishes importing."""
import time

time.sleep(1000)
